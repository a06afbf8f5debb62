import Sluice
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// Sessions whose users may read something else than a moment ago.
@Suite struct RevocationTests {
    private typealias World = RuledWorld

    /// Documents 1 to 5 of team 7, 6 of nobody, 9 of all.
    private func world(_ users: [String] = ["ada", "bob"], members: [String] = ["ada"]) throws -> RuledWorld {
        let world = try World(users: users)
        try world.setTeam(7, members)
        try world.create(
            World.document(1, team: 7), World.document(2, team: 7), World.document(3, team: 7),
            World.document(4, team: 7), World.document(5, team: 7), World.document(6),
            World.document(9, isPublic: true))
        return world
    }

    @Test(arguments: [
        "Document", "Document SORT(id ASC) LIMIT(3)", "Document DISTINCT(text) LIMIT(2)", "Document WHERE team.id == 7",
    ])
    func whoLeavesATeamLosesWhatTheTeamSharesInTheSameVersion(query: String) throws {
        let world = try world()
        try world.observe("ada", query)
        let before = world["ada"].results[query]?.count ?? 0
        #expect(before > 0)
        try world.setTeam(7, [])
        let held = try world.held("ada")
        #expect(held.allSatisfy { $0 == 9 })
        #expect(world["ada"].results[query]?.allSatisfy { $0.key == .int(9) } ?? false)
        let removals = world["ada"].removals.filter { $0.key != .int(9) }
        #expect(!removals.isEmpty && removals.values.allSatisfy { $0 == .permission })
        let last = try #require(world["ada"].frames.last)
        #expect(last.contains { if case .commit = $0 { true } else { false } })
        #expect(last.contains { if case .context = $0 { true } else { false } })
    }

    @Test func whoJoinsATeamGetsWhatItSharesInTheSameVersion() throws {
        let world = try world(members: [])
        try world.observe("ada", "Document SORT(id ASC) LIMIT(3)")
        #expect(try world.held("ada") == [9])
        try world.setTeam(7, ["ada"])
        #expect(world["ada"].results["Document SORT(id ASC) LIMIT(3)"]?.map(\.key) == [.int(1), .int(2), .int(3)])
    }

    @Test func othersAreToldNothingOfIt() throws {
        let world = try world(["ada", "bob", "cyd"], members: ["ada", "bob"])
        for user in ["ada", "bob", "cyd"] { try world.observe(user, "Document EXCLUDE(team)") }
        let counts = ["bob", "cyd"].map { world[$0].frames.count }
        try world.setTeam(7, ["bob"])
        #expect(["bob", "cyd"].map { world[$0].frames.count } == counts)
        #expect(try world.held("bob") == [1, 2, 3, 4, 5, 9] && world.held("ada") == [9])
    }

    @Test func aSecretWrittenAfterAccessWasLostIsNeverSentEvenInTheSameTransaction() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.write("root") { writer in
            try writer.update(World.team(7), [FieldOperation(1, .set(.list([])))])
            try writer.update(World.document(1), [FieldOperation(World.Field.text, .set(.string("secret")))])
        }
        try world.update("root", 2, World.Field.text, .string("secret"))
        #expect(try world.held("ada") == [9])
        #expect(!world["ada"].texts.contains("secret"))
    }

    @Test func aBootstrapThatIsUnderWayGoesOnWithWhatMayStillBeRead() throws {
        var limits = DatabaseLimits()
        limits.pageRowCount = 2
        let world = try World(users: ["ada"], limits: limits)
        try world.setTeam(7, ["ada"])
        for key in 1...9 as ClosedRange<Int64> { try world.create(World.document(key, team: 7, isPublic: key > 7)) }
        world.sendsPages = false
        try world.observe("ada", "Document")
        world.step()
        world.step()
        try world.setTeam(7, [])
        try world.update("root", 1, World.Field.text, .string("secret"))
        world.sendsPages = true
        world.settle()
        #expect(try world.held("ada") == [8, 9])
        #expect(!world["ada"].texts.contains("secret"))
    }

    @Test func whatABootstrapHasBroughtIsTakenOutAlsoByTheSecondChangeOfRights() throws {
        var limits = DatabaseLimits()
        limits.pageRowCount = 2
        let world = try World(users: ["ada"], limits: limits)
        for team in [7, 8] as [Int64] { try world.setTeam(team, ["ada"]) }
        for key in 1...8 as ClosedRange<Int64> { try world.create(World.document(key, team: key < 5 ? 7 : 8)) }
        try world.create(World.document(9, isPublic: true))
        world.sendsPages = false
        try world.observe("ada", "Document")
        world.step()
        world.step()
        // The client goes on with what it was sent.
        try world.setTeam(8, [])
        try world.setTeam(7, [])
        world.sendsPages = true
        world.settle()
        #expect(try world.held("ada") == [9])
        let record = try #require(world["ada"].storage.subscriptions.first)
        #expect(world["ada"].storage.memberCount(of: record.id, role: .root) == 1)
    }

    @Test(arguments: [true, false])
    func whoComesBackAfterRightsChangedHasExactlyWhatMayBeRead(gains: Bool) throws {
        let world = try world(members: gains ? [] : ["ada"])
        try world.observe("ada", "Document")
        try world.observe("ada", "Document SORT(id DESC) LIMIT(2)")
        world.disconnect("ada")
        try world.setTeam(7, gains ? ["ada"] : [])
        try world.update("root", 1, World.Field.text, .string("secret"))
        world.connect("ada")
        #expect(try world.held("ada") == world.readable("ada"))
        #expect(world["ada"].texts.contains("secret") == gains)
    }

    @Test func whoLostAccessAndRegainedItWhileAwayHasEverything() throws {
        let world = try world()
        try world.observe("ada", "Document")
        world.disconnect("ada")
        try world.setTeam(7, [])
        try world.update("root", 2, World.Field.text, .string("new"))
        try world.setTeam(7, ["ada"])
        world.connect("ada")
        #expect(try world.held("ada") == [1, 2, 3, 4, 5, 9])
        #expect(try world["ada"].storage.row(World.document(2))?.values[World.Field.text] == .string("new"))
    }

    @Test func whatAnotherRuleAllowsStays() throws {
        let world = try world()
        try world.create(World.document(11, owner: "ada", team: 7))
        try world.observe("ada", "Document")
        try world.setTeam(7, [])
        #expect(try world.held("ada") == [9, 11])
    }

    @Test func theSameUserWithOtherClaimsReadsWhatTheseAllow() throws {
        let world = try world()
        try world.observe("ada", "Document")
        world.renew("ada", claims: .object([.init(name: "role", value: .string("admin"))]))
        #expect(try world.held("ada") == [1, 2, 3, 4, 5, 6, 9])
        world.renew("ada", claims: .object([]))
        #expect(try world.held("ada") == [1, 2, 3, 4, 5, 9])
    }

    @Test func aLinkLeadsNoFurtherThanWhatMayBeRead() throws {
        let world = try world()
        try world.create(World.document(20, owner: "ada", parent: 21), World.document(21, team: 7, parent: 6))
        try world.observe("ada", "Document WHERE id == 20")
        #expect(try world.held("ada") == [20, 21])
        try world.setTeam(7, [])
        #expect(try world.held("ada") == [20])
    }

    @Test func aDeletionIsToldOnlyToWhoCouldReadTheObject() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.observe("bob", "Document")
        let count = world["bob"].frames.count
        try world.write("root") { try $0.delete(World.document(1)) }
        #expect(world["ada"].removals[.int(1)] == .deleted)
        #expect(world["bob"].frames.count == count)
    }

    @Test func theContextOfAQueryThatRightsDoNotConcernStays() throws {
        let world = try world()
        try world.observe("ada", "User")
        let count = world["ada"].frames.count
        try world.setTeam(7, [])
        let later = world["ada"].frames[count...].flatMap { $0 }
        #expect(later.allSatisfy { if case .page = $0 { false } else { true } })
        #expect(try world["ada"].storage.count(ofClass: World.ClassIndex.user) == 3)
    }
}
