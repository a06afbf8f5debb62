import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import Testing

/// Group 17 of the cases: tables 2 and 3 of Couchbase's page on replication, row by row. A channel is a team here, and a
/// document of the channel a document of the team.
@Suite struct CouchbaseRowTests {
    private typealias World = RuledWorld

    /// Documents 1 to 3 of channel 7, 4 of channels 7 and, as its owner, ada's own.
    private func world() throws -> RuledWorld {
        let world = try World(users: ["ada"])
        try world.setTeam(7, ["ada"])
        try world.create(
            World.document(1, team: 7), World.document(2, team: 7), World.document(3, team: 7),
            World.document(4, owner: "ada", team: 7))
        return world
    }

    private func text(_ world: RuledWorld, _ key: Int64) throws -> Value? {
        try world.server.row(World.document(key))?.values[World.Field.text]
    }

    // MARK: Table 2: access is revoked

    @Test func whoPullsLosesWhatWasPulledWhenAccessIsRevoked() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.setTeam(7, [])
        #expect(try world.held("ada") == [4])
        #expect([1, 2, 3].allSatisfy { world["ada"].removals[.int($0)] == .permission })
    }

    @Test func whoOnlyPushesLosesNothingAndIsRefusedWhenAccessIsRevoked() throws {
        let world = try world()
        try world.observe("root", "Document")
        world.configure { $0.purgesRevokedObjects = false }
        try world.restart("ada")
        // Without a subscription, what is written stays until it is cleaned up.
        try world.write("ada") { writer in
            try writer.insert(
                World.document(10, "first", owner: "ada", team: 7), ofClass: World.ClassIndex.document)
        }
        #expect(try text(world, 10) == .string("first"))
        try world.write("root") { writer in
            try writer.update(World.document(10), [FieldOperation(World.Field.owner, .set(.link(.string("root"))))])
        }
        try world.setTeam(7, [])
        #expect(try world.held("ada") == [10])
        try world.update("ada", 10, World.Field.text, .string("second"))
        #expect(try text(world, 10) == .string("first"))
    }

    @Test func whoPullsAndPushesLosesTheObjectsAndIsRefusedWhenAccessIsRevoked() throws {
        let world = try world()
        try world.observe("ada", "Document")
        world.disconnect("ada")
        try world.update("ada", 1, World.Field.text, .string("offline"))
        try world.setTeam(7, [])
        world.connect("ada")
        #expect(try world.held("ada") == [4])
        #expect(try text(world, 1) == .string("") && world["ada"].storage.outboxCount == 0)
    }

    @Test func whatIsInAnotherOfTheUsersChannelsStays() throws {
        let world = try world()
        try world.setTeam(8, ["ada"])
        try world.observe("ada", "Document")
        try world.update("root", 2, World.Field.team, .link(.int(8)))
        try world.setTeam(7, [])
        #expect(try world.held("ada") == [2, 4])
    }

    @Test(arguments: ["member", "channel", "object"]) func accessIsLostInEachWay(way: String) throws {
        let world = try world()
        try world.observe("ada", "Document")
        switch way {
        case "member": try world.setTeam(7, [])
        case "channel": try world.write("root") { try $0.delete(World.team(7)) }
        default: for key in [1, 2, 3] as [Int64] { try world.update("root", key, World.Field.team, .null) }
        }
        #expect(try world.held("ada") == [4])
        #expect([1, 2, 3].allSatisfy { world["ada"].removals[.int($0)] == .permission })
    }

    // MARK: Table 3: access is given again

    /// There the objects come when they are next updated; here at once.
    @Test func whoPullsHasEverythingAtOnceWhenAccessIsGivenAgain() throws {
        let world = try world()
        try world.observe("ada", "Document")
        try world.setTeam(7, [])
        try world.setTeam(7, ["ada"])
        #expect(try world.held("ada") == [1, 2, 3, 4])
    }

    @Test func whatWasRefusedIsNotPushedAgainWhenAccessIsGivenAgainAndLaterChangesAre() throws {
        let world = try world()
        try world.observe("ada", "Document")
        world.disconnect("ada")
        try world.update("ada", 1, World.Field.text, .string("refused"))
        try world.setTeam(7, [])
        world.connect("ada")
        try world.setTeam(7, ["ada"])
        #expect(try text(world, 1) == .string(""))
        try world.update("ada", 1, World.Field.text, .string("later"))
        #expect(try text(world, 1) == .string("later"))
        #expect(try world.held("ada") == [1, 2, 3, 4])
    }

    // MARK: Table 4: what the program is told

    @Test func whatIsPurgedIsToldWithItsReason() throws {
        let world = try world()
        try world.observe("ada", "Document WHERE id == 1")
        try world.setTeam(7, [])
        #expect(world["ada"].results["Document WHERE id == 1"]?.isEmpty ?? false)
        #expect(world["ada"].removals == [.int(1): .permission])
    }
}
