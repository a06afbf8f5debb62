import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceRules

/// What the rules say of one object that a transaction changes.
@Suite struct VerdictTests {
    private static let text = #"""
        {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
         "classes": {"Document": {"read": "owner.id == $user.id OR public == TRUE", "create": "owner.id == $user.id",
           "update": "owner.id == $user.id", "updateAfter": "salary < 10", "delete": "salary == 0",
           "fields": {"team": {"write": "team IN $user.teams"}}}}}
        """#

    private let world = RulesWorld()
    private let binding: Binding

    init() throws {
        world.add("User", .string("ada"))
        world.add("User", .string("bob"))
        world.add("Team", .string("T1"), ["members": .list([.link(.string("ada"))])])
        binding = try world.bind(Rules(Self.text), RuleUser(id: "ada"))
    }

    private func row(_ owner: String, salary: Int64 = 1, public isPublic: Bool = false, team: String? = nil) -> Row {
        RulesWorld().add(
            "Document", .string("d"),
            [
                "owner": .link(.string(owner)), "salary": .int(salary), "public": .bool(isPublic),
                "team": team.map { .link(.string($0)) } ?? .null,
            ])
    }

    private func verdict(_ before: Row?, _ after: Row?, changed: [String] = []) throws -> RuleVerdict {
        let document = RulesWorld.index("Document")
        let positions = changed.compactMap { RulesWorld.schema[document].index(of: $0) }
        return try binding.verdict(
            onClass: document, before: before, after: after, changed: PropertySet(positions), old: world, new: world)
    }

    private func denied(_ action: RuleAction, _ property: String? = nil) -> RuleVerdict {
        .denied(RuleDenial(className: "Document", cause: property.map { .property($0) } ?? .action(action)))
    }

    @Test func creationIsJudgedByTheNewObject() throws {
        #expect(try verdict(nil, row("ada")) == .allowed)
        #expect(try verdict(nil, row("bob")) == denied(.create))
    }

    @Test func anUnreadableObjectIsMissingWhateverIsDone() throws {
        #expect(try verdict(row("bob"), row("ada")) == .missing)
        #expect(try verdict(row("bob", salary: 0), nil) == .missing)
    }

    @Test func anUpdateIsJudgedBeforeAndAfter() throws {
        #expect(try verdict(row("ada"), row("ada", salary: 9)) == .allowed)
        #expect(try verdict(row("bob", public: true), row("bob", public: true)) == denied(.update))
        #expect(try verdict(row("ada"), row("ada", salary: 10)) == denied(.updateAfter))
        // With a rule of its own for the object after, giving away is allowed.
        #expect(try verdict(row("ada"), row("bob")) == .allowed)
    }

    @Test func deletionIsJudgedByTheObjectBefore() throws {
        #expect(try verdict(row("ada", salary: 0), nil) == .allowed)
        #expect(try verdict(row("ada"), nil) == denied(.delete))
        #expect(try verdict(nil, nil) == .allowed)
    }

    @Test func aPropertyWithARuleIsJudgedBeforeAnUpdateAndAfterACreation() throws {
        #expect(try verdict(row("ada", team: "T1"), row("ada"), changed: ["team"]) == .allowed)
        #expect(try verdict(row("ada"), row("ada", team: "T1"), changed: ["team"]) == denied(.update, "team"))
        #expect(try verdict(row("ada"), row("ada"), changed: ["salary"]) == .allowed)
        #expect(try verdict(nil, row("ada", team: "T1"), changed: ["team"]) == .allowed)
        #expect(try verdict(nil, row("ada", team: "T2"), changed: ["team"]) == denied(.create, "team"))
        #expect("\(denied(.update, "team"))".contains("Document.team may not be written"))
    }
}
