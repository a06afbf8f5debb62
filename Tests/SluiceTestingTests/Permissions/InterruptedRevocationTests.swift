import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import Testing

/// Group 12 of the cases: rights that change while the server or a client is down, and the ways back.
@Suite struct InterruptedRevocationTests {
    private typealias World = RuledWorld

    /// Documents 1 to 8 of team 7, 9 of all.
    private func world(pageRowCount: Int = 2, users: [String] = ["ada"]) throws -> RuledWorld {
        var limits = DatabaseLimits()
        limits.pageRowCount = pageRowCount
        let world = try World(users: users, limits: limits)
        try world.setTeam(7, ["ada"])
        for key in 1...9 as ClosedRange<Int64> { try world.create(World.document(key, team: 7, isPublic: key == 9)) }
        return world
    }

    @Test func aServerThatCrashesAfterARevocationTellsItToWhoComesBack() throws {
        let world = try world()
        try world.observe("ada", "Document")
        world.disconnect("ada")
        try world.setTeam(7, [])
        try world.crashServer()
        try world.update("root", 1, World.Field.text, .string("secret"))
        world.connect("ada")
        #expect(try world.held("ada") == [9])
        // Who was away and lists what it has is not told whether an object is hidden or gone.
        #expect(world["ada"].removals[.int(1)] == .unknown)
        #expect(!world["ada"].texts.contains("secret"))
    }

    @Test func whoMayReadNothingOfAClassAnyMoreIsToldSoOfAllThatThereWas() throws {
        let rules = World.rules
            .replacing(
                "isPublic == TRUE OR owner.id == $user.id OR team IN $user.teams OR $role.admin",
                with: "$role.admin OR $role.reader"
            )
            .replacing("\"admin\": ", with: "\"reader\": \"ANY Team.members.id == $user.id\", \"admin\": ")
        let world = try World(rules: rules, users: ["ada"]) { world, user, object, _ in
            if user == "root" || object.classIndex == World.ClassIndex.user { return true }
            return try world.isMember(world[user], of: .int(7))
        }
        try world.setTeam(7, ["ada"])
        try world.create(World.document(1), World.document(2))
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [1, 2])
        world.disconnect("ada")
        try world.setTeam(7, [])
        try world.write("root") { try $0.delete(World.document(2)) }
        world.connect("ada")
        #expect(try world.held("ada") == [])
        // The answer is the same for what is hidden and for what is gone, so it tells nothing of either.
        #expect(world["ada"].removals[.int(1)] == .permission)
        #expect(world["ada"].removals[.int(2)] == .permission)
    }

    @Test func aServerThatCrashesDuringABootstrapSendsWhatMayBeReadThen() throws {
        let world = try world()
        world.sendsPages = false
        try world.observe("ada", "Document")
        world.step()
        world.step()
        try world.setTeam(7, [])
        world.sendsPages = true
        try world.crashServer()
        world.settle()
        #expect(try world.held("ada") == [9])
    }

    @Test func aClientThatCrashesBeforeItHearsOfARevocationLosesTheObjectsWhenItComesBack() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.crash("ada")
        try world.setTeam(7, [])
        try world.update("root", 1, World.Field.text, .string("secret"))
        try world.observe("ada", "Document")
        world.connect("ada")
        #expect(try world.held("ada") == [9])
        #expect(!world["ada"].texts.contains("secret"))
    }

    @Test func aClientThatCrashesDuringABootstrapKeepsNothingThatWasRevoked() throws {
        let world = try world()
        world.sendsPages = false
        try world.observe("ada", "Document")
        world.step()
        world.step()
        try world.crash("ada")
        try world.setTeam(7, [])
        world.sendsPages = true
        try world.observe("ada", "Document")
        world.connect("ada")
        #expect(try world.held("ada") == [9])
    }

    @Test func aTeamThatIsDeletedTakesItsRightsAlong() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.write("root") { try $0.delete(World.team(7)) }
        #expect(try world.held("ada") == [9])
        #expect(world["ada"].removals[.int(1)] == .permission)
    }

    @Test func aUserWhoIsDeletedIsInNoTeam() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.write("root") { try $0.delete(ObjectRef(World.ClassIndex.user, .string("ada"))) }
        #expect(try world.held("ada") == [9])
    }

    @Test(arguments: [true, false]) func whoComesBackAfterTheLogWasTrimmedHasExactlyWhatMayBeRead(gains: Bool) throws {
        let world = try world()
        try world.setTeam(7, gains ? [] : ["ada"])
        try world.observe("ada", "Document")
        try world.observe("ada", "Document SORT(id DESC) LIMIT(2)")
        world.disconnect("ada")
        try world.setTeam(7, gains ? ["ada"] : [])
        try world.update("root", 2, World.Field.text, .string("secret"))
        _ = try world.server.trimLog(keepingVersions: 0, keepingBytes: .max, entriesMax: 10_000)
        world.connect("ada")
        #expect(try world.held("ada") == world.readable("ada"))
        #expect(world["ada"].texts.contains("secret") == gains)
    }

    @Test func accessThatWasLostAndRegainedAcrossACrashIsWhole() throws {
        let world = try world()
        try world.observe("ada", "Document")
        world.disconnect("ada")
        try world.setTeam(7, [])
        try world.crashServer()
        try world.update("root", 2, World.Field.text, .string("new"))
        try world.setTeam(7, ["ada"])
        world.connect("ada")
        #expect(try world.held("ada") == Array(1...9))
        #expect(try world["ada"].storage.row(World.document(2))?.values[World.Field.text] == .string("new"))
    }
}
