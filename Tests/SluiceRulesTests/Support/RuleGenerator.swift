import SluiceJSON
import SluiceModel
import TestSupport

@testable import SluiceRules

/// What a generated condition is asked about: a document, and a user.
struct DocumentSubject {
    let document: RuledObject
    let user: RuleUser
    let world: RulesWorld

    /// The user's key in the class User; nil without an id.
    private var userKey: ObjectKey? { user.id.map { .string($0) } }

    /// Whether the document's owner is there and is the user; nil for a user without an id.
    var isOwned: Bool? { userKey.map { document.target("owner")?.key == $0 } }

    /// Whether the user is in the document's team; nil for a user without an id.
    var isInTeam: Bool? { userKey.map { _ in document.target("team").map(isMember) ?? false } }

    /// Whether the user is in some team.
    var isInAnyTeam: Bool {
        world.objects(named: "Team").values.contains { isMember(RuledObject("Team", $0, in: world)) }
    }

    var role: String? { user.claims["role"]?.string }

    var level: Int64? { if case .integer(let level) = user.claims["level"] { level } else { nil } }

    var salary: Int64 { document.int("salary") ?? 0 }

    /// The channels of the user's claims, as values.
    var channels: [Value]? { user.claims["channels"]?.array?.compactMap(\.string).map { .string($0) } }

    private func isMember(_ team: RuledObject) -> Bool { team.targets("members").contains { $0.key == userKey } }
}

extension RuleCondition<DocumentSubject> {
    private typealias Leaf = RuleLeaf<DocumentSubject>

    static var leaves: [RuleLeaf<DocumentSubject>] {
        [
            Leaf("public == TRUE") { $0.document["public"] == .bool(true) },
            Leaf("owner.id == $user.id") { $0.isOwned },
            Leaf("owner.id != $user.id") { $0.isOwned.map { !$0 } },
            Leaf("salary > $user.claims.level") { subject in subject.level.map { subject.salary > $0 } },
            Leaf("salary + 1 == $user.claims.level") { subject in subject.level.map { subject.salary + 1 == $0 } },
            Leaf("team IN $user.teams") { $0.isInTeam ?? false },
            Leaf("ANY team.members.id == $user.id") { $0.isInTeam },
            Leaf("SUBQUERY(team.members, $m, $m.id == $user.id).@count == 0") { $0.isInTeam.map { !$0 } },
            Leaf("SUBQUERY(team.members, $m, $user.id == NULL OR $m.id == $user.id).@count > 0") { $0.isInTeam },
            Leaf("$role.admin") { $0.role == "admin" },
            Leaf("$role.member") { $0.isInAnyTeam },
            Leaf("$role.outsider") { $0.role != "admin" && !$0.isInAnyTeam },
            Leaf("$user.id == NULL") { $0.user.id == nil },
            Leaf("$user.claims.level != NULL") { $0.user.claims["level"] != nil },
            Leaf("ANY channels IN $user.claims.channels") { subject in
                subject.channels.map { subject.document.elements("channels").contains(where: $0.contains) }
            },
            Leaf("ALL channels IN $user.claims.channels") { subject in
                subject.channels.map { subject.document.elements("channels").allSatisfy($0.contains) }
            },
            Leaf("'a' IN $user.claims.channels") { $0.channels?.contains(.string("a")) },
            Leaf("$user.claims.role IN {'admin', 'clerk'}") { $0.role.map { $0 == "admin" || $0 == "clerk" } },
            Leaf("id BEGINSWITH $user.claims.role") { subject in
                subject.role.map { subject.document.key.description.hasPrefix($0) }
            },
        ]
    }

    static func make(_ depth: Int, _ random: inout SeededGenerator) -> RuleCondition {
        guard depth > 0, !random.chance(25) else { return .leaf(random.pick(leaves)) }
        switch random.below(3) {
        case 0: return .not(make(depth - 1, &random))
        case 1: return .and(make(depth - 1, &random), make(depth - 1, &random))
        default: return .or([make(depth - 1, &random), make(depth - 1, &random)])
        }
    }
}

extension RulesWorld {
    /// A world of few users, teams and documents, some of whose links lead nowhere.
    static func random(_ random: inout SeededGenerator) -> RulesWorld {
        let world = RulesWorld()
        for name in ["ada", "bob"] { world.add("User", .string(name)) }
        for number in 0..<3 {
            let members = ["ada", "bob", "gone"].filter { _ in random.chance(40) }
            world.add(
                "Team", .string("T\(number)"), ["members": .list(members.map { .link(.string($0)) })])
        }
        for number in 0..<12 {
            let channels = ["a", "b", "c"].filter { _ in random.chance(40) }
            let names: [Value] = [.null, .link(.string("ada")), .link(.string("bob")), .link(.string("gone"))]
            world.add(
                "Document", .string("\(random.pick(["admin", "d"]))\(number)"),
                [
                    "public": .bool(random.chance(30)), "owner": random.pick(names),
                    "team": random.pick([.null, .link(.string("T0")), .link(.string("T1")), .link(.string("T9"))]),
                    "salary": .int(Int64.random(in: 0...5, using: &random)),
                    "channels": .list(channels.map { .string($0) }),
                ])
        }
        return world
    }
}
