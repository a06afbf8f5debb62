import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// What may not be read any more leaves a store also where no subscription holds it.
@Suite struct WithdrawalTests {
    private typealias World = RuledWorld

    /// Ada has documents 1 to 3 of the team 7, 4 that is public and 5 of her own, and observes nothing any more.
    private func world(_ configure: (inout ClientOptions) -> Void = { _ in }) throws -> RuledWorld {
        let world = try World(users: ["ada", "bob"], configure: configure)
        try world.setTeam(7, ["ada"])
        try world.create(
            World.document(1, team: 7), World.document(2, team: 7), World.document(3, team: 7),
            World.document(4, isPublic: true), World.document(5, owner: "ada"))
        try world.observe("ada", "Document")
        try world.stop("ada", "Document")
        #expect(try world.held("ada") == [1, 2, 3, 4, 5])
        return world
    }

    @Test func whatADormantMembershipHoldsGoesWhenItsReaderLosesTheRight() throws {
        let world = try world()
        try world.setTeam(7, [])
        #expect(try world.held("ada") == [4, 5])
    }

    @Test func whatADormantMembershipHoldsGoesWhenTheObjectItselfIsHidden() throws {
        let world = try world()
        try world.update("root", 2, World.Field.team, .null)
        #expect(try world.held("ada") == [1, 3, 4, 5])
        try world.update("root", 4, World.Field.isPublic, .bool(false))
        #expect(try world.held("ada") == [1, 3, 5])
    }

    @Test(arguments: [false, true])
    func whoComesBackKeepsOfWhatNobodyObservesExactlyWhatMayBeRead(restarts: Bool) throws {
        let world = try world()
        world.disconnect("ada")
        try world.setTeam(7, [])
        try world.update("root", 4, World.Field.isPublic, .bool(false))
        try world.update("root", 1, World.Field.owner, .link(.string("ada")))
        if restarts { try world.restart("ada") } else { world.connect("ada") }
        #expect(try world.held("ada") == [1, 5])
    }

    @Test func whatWasOnlyWrittenHereGoesOnceItsAuthorMayNotReadIt() throws {
        let world = try world()
        try world.write("ada") { writer in
            try writer.insert(World.document(9, owner: "ada"), ofClass: World.ClassIndex.document)
        }
        #expect(try world.held("ada") == [1, 2, 3, 4, 5, 9])
        try world.update("ada", 9, World.Field.owner, .link(.string("bob")))
        #expect(world["ada"].rejections.isEmpty)
        #expect(try world.held("ada") == [1, 2, 3, 4, 5])
    }

    @Test func aPendingWriteOfWhatIsNotThereAnyMoreIsRevertedAndReported() throws {
        let world = try world()
        world.disconnect("ada")
        try world.update("ada", 2, World.Field.text, .string("offline"))
        try world.update("ada", 5, World.Field.text, .string("mine"))
        try world.setTeam(7, [])
        world.connect("ada")
        #expect(try world.held("ada") == [4, 5])
        let rejection = try #require(world["ada"].rejections.first)
        #expect(world["ada"].rejections.count == 1 && rejection.object?.key == .int(2))
        #expect(rejection.reason.code == .notPermitted && rejection.rejectedValues == ["text": .string("offline")])
        #expect(try world.server.row(World.document(5))?.values[World.Field.text] == .string("mine"))
        #expect(try world["ada"].storage.baseImage(of: World.document(2)) == nil)
    }

    @Test func aPendingWriteOfAnObservedObjectThatIsHiddenIsReportedToo() throws {
        let world = try world()
        try world.observe("ada", "Document")
        world.disconnect("ada")
        try world.update("ada", 2, World.Field.text, .string("offline"))
        try world.update("root", 2, World.Field.team, .null)
        world.connect("ada")
        #expect(try world.held("ada") == [1, 3, 4, 5])
        #expect(world["ada"].rejections.map(\.object?.key) == [.int(2)])
    }

    @Test func whatARuleReadsElsewhereIsJudgedAgainSoon() throws {
        let rules = RuledWorld.rules.replacing(
            "isPublic == TRUE OR", with: "isPublic == TRUE OR parent.isPublic == TRUE OR")
        let world = try World(rules: rules, users: ["ada"])
        try world.create(World.document(1, parent: 2), World.document(2, isPublic: true))
        world.skipsOracle = true
        try world.observe("ada", "Document WHERE id == 1")
        try world.stop("ada", "Document WHERE id == 1")
        #expect(try world.held("ada") == [1, 2])
        try world.update("root", 2, World.Field.isPublic, .bool(false))
        #expect(try world.held("ada") == [1])
        world.checkSessions(later: 2_000_000)
        #expect(try world.held("ada") == [])
    }

    @Test func aStoreMayKeepWhatItMayNotReadAnyMore() throws {
        let world = try world { $0.purgesRevokedObjects = false }
        try world.observe("ada", "Document")
        try world.setTeam(7, [])
        #expect(try world.held("ada") == [1, 2, 3, 4, 5])
        #expect(world["ada"].results["Document"]?.map(\.key).sorted() == [.int(4), .int(5)])
        #expect(world["ada"].removals.filter { $0.value == .permission }.keys.sorted() == [.int(1), .int(2), .int(3)])
        world.disconnect("ada")
        try world.update("root", 4, World.Field.isPublic, .bool(false))
        world.connect("ada")
        #expect(try world.held("ada") == [1, 2, 3, 4, 5])
        #expect(world["ada"].results["Document"]?.map(\.key) == [.int(5)])
    }

    @Test func whatAServerSaysOfMadeUpKeysIsTheSameForHiddenAndMissingOnes() throws {
        let world = try world()
        let count = world["bob"].frames.count
        var content = ObjectBlock()
        for key in [1, 4, 77] as [Int64] { content.append(World.document(key), version: 0, role: .member) }
        let session = SessionID(connection: world["bob"].number, session: 1)
        world.inject(.cached(.init(session: 1, request: 9, content: content)), from: session)
        let answers = world["bob"].frames[count...].flatMap { $0 }
        var expected = ObjectBlock()
        for key in [1, 77] as [Int64] { expected.append(World.document(key), version: 0, role: .member) }
        #expect(answers == [.withdrawn(.init(session: 1, request: 9, content: expected))])
    }

    @Test func anOfferBeyondTheLimitsEndsTheSessionAlone() throws {
        let world = try world()
        var content = ObjectBlock()
        for key in 0...2_000 as ClosedRange<Int64> { content.append(World.document(key), version: 0, role: .member) }
        let session = SessionID(connection: world["bob"].number, session: 1)
        world.inject(.cached(.init(session: 1, request: 1, content: content)), from: session)
        #expect(
            world["bob"].frames.flatMap { $0 }.contains { message in
                if case .error(let failure) = message { failure.code == .protocolViolation } else { false }
            })
        #expect(try world.readable("bob") == [4])
    }

    @Test func whatIsWatchedIsBoundedAndTheRestIsJudgedWithTheNextOffer() throws {
        var limits = DatabaseLimits()
        limits.cachedObjectCountMax = 2
        let world = try World(users: ["ada"], limits: limits)
        try world.setTeam(7, ["ada"])
        for key in 1...5 as ClosedRange<Int64> { try world.create(World.document(key, team: 7)) }
        try world.observe("ada", "Document WHERE id > 0")
        try world.stop("ada", "Document WHERE id > 0")
        for key in 1...5 as ClosedRange<Int64> { try world.update("root", key, World.Field.team, .null) }
        #expect(try world.held("ada").count == 3)
        world.disconnect("ada")
        world.connect("ada")
        #expect(try world.held("ada") == [])
    }

    @Test func aStoreThatKeptWhatItMayNotReadGivesItUpOnceItIsToldTo() throws {
        let world = try world { $0.purgesRevokedObjects = false }
        try world.setTeam(7, [])
        #expect(try world.held("ada") == [1, 2, 3, 4, 5])
        world.disconnect("ada")
        world.configure { $0.purgesRevokedObjects = true }
        try world.restart("ada")
        #expect(try world.held("ada") == [4, 5])
    }

    // MARK: A choice for single objects (rows C37 and C38 of the Couchbase table)

    @Test func aStoreDecidesForEachObjectWhetherItKeepsWhatItMayNotReadAnyMore() throws {
        let world = try world { $0.keepsRevokedObject = { $0.key == .int(2) } }
        try world.observe("ada", "Document")
        try world.setTeam(7, [])
        #expect(try world.held("ada") == [2, 4, 5])
        #expect(world["ada"].results["Document"]?.map(\.key).sorted() == [.int(4), .int(5)])
        #expect(world["ada"].removals.filter { $0.value == .permission }.keys.sorted() == [.int(1), .int(2), .int(3)])
        // What is deleted is no matter of rights.
        try world.setTeam(7, ["ada"])
        #expect(try world.held("ada") == [1, 2, 3, 4, 5])
        try world.write("root") { try $0.delete(World.document(2)) }
        #expect(try world.held("ada") == [1, 3, 4, 5])
    }

    @Test(arguments: [false, true]) func theChoiceHoldsForWhatNobodyObservesAndForWhoComesBack(restarts: Bool) throws {
        let world = try world { $0.keepsRevokedObject = { $0.className == "Document" && $0.key == .int(2) } }
        try world.update("root", 3, World.Field.team, .null)
        #expect(try world.held("ada") == [1, 2, 4, 5])
        world.disconnect("ada")
        try world.setTeam(7, [])
        if restarts { try world.restart("ada") } else { world.connect("ada") }
        #expect(try world.held("ada") == [2, 4, 5])
        // Asked again with the next session, the program lets it go.
        world.disconnect("ada")
        world.configure { $0.keepsRevokedObject = nil }
        try world.restart("ada")
        #expect(try world.held("ada") == [4, 5])
    }

    @Test func aSessionThatEndsLeavesNothingToWatch() throws {
        let world = try world()
        #expect(world.engine.cachedObjectCount > 0)
        for user in ["ada", "bob", "root"] { world.disconnect(user) }
        #expect(world.engine.cachedObjectCount == 0)
    }
}
