import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// What readers gain and lose that takes longer to find than a commit may: their clients list what they have, like those
/// that return, and are sent in pages what differs. Nobody else waits for it.
@Suite struct LargeSwitchTests {
    private typealias World = RuledWorld

    /// A query whose view holds nothing, one whose view holds what links lead to, and a window.
    static let queries = [
        "Document EXCLUDE(owner, team, parent)", "Document",
        "Document SORT(id ASC) LIMIT(25) EXCLUDE(owner, team, parent)",
    ]

    private static let count: Int64 = 60

    /// Documents of ada's team 7; the last ten are everybody's, and the first is bob's.
    private func world(
        _ query: String, _ users: [String] = ["ada", "bob"], _ configure: (inout DatabaseLimits) -> Void = { _ in }
    ) throws -> RuledWorld {
        var limits = DatabaseLimits()
        limits.pageRowCount = 10
        limits.server.pageCreditMax = 2
        limits.contextStepCountMax = 0
        limits.objectCountBeside = 1
        configure(&limits)
        let world = try World(users: users, limits: limits, isFile: true)
        try world.setTeam(7, ["ada"])
        try world.write("root") { writer in
            for key in 1...Self.count {
                let row = World.document(
                    key, owner: key == 1 ? "bob" : "root", team: 7, isPublic: key > Self.count - 10)
                try writer.insert(row, ofClass: World.ClassIndex.document)
            }
        }
        for user in users { try world.observe(user, query) }
        return world
    }

    private func check(
        _ world: RuledWorld, _ users: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(world.problems.isEmpty, "\(world.problems.first ?? "")", sourceLocation: sourceLocation)
        for user in users {
            for query in world[user].observations.keys {
                let readable = try world.readable(user)
                let expected = query.contains("LIMIT") ? Array(readable.prefix(25)) : readable
                #expect(
                    world[user].results[query]?.map(\.key).sorted() == expected.map { .int($0) }, "\(user): \(query)",
                    sourceLocation: sourceLocation)
                #expect(world[user].storage.subscriptions.allSatisfy { $0.isDormant || $0.state == .complete })
            }
        }
    }

    @Test(arguments: queries) func whatChangesHandsIsComparedBesideTheWriter(query: String) throws {
        let world = try world(query)
        world.delaysReadings = true
        try world.setTeam(7, ["bob"])
        // Neither has been told of anything, and nobody waits for it.
        #expect(world["ada"].removals.isEmpty && world.engine.isIdle == false)
        try world.update("root", 2, World.Field.text, .string("secret"))
        #expect(world["root"].storage.outboxCount == 0)
        #expect(!world["ada"].texts.contains("secret"))
        world.readBeside()
        try check(world, "ada", "bob")
        #expect(!world["ada"].texts.contains("secret") && world["bob"].texts.contains("secret"))
        #expect(world["ada"].removals[.int(2)] == .unknown)
        try world.update("root", 2, World.Field.text, .string("other"))
        try check(world, "ada", "bob")
        #expect(!world["ada"].texts.contains("other"))
    }

    @Test(arguments: queries) func whatCommitsChangeMeanwhileIsSentAsItIsThen(query: String) throws {
        let world = try world(query)
        world.delaysReadings = true
        try world.setTeam(7, ["bob"])
        try world.write("root") { writer in
            // Gone; ada's own; nobody's any more; new.
            try writer.delete(World.document(3))
            try writer.update(World.document(4), [FieldOperation(World.Field.owner, .set(.link(.string("ada"))))])
            try writer.update(World.document(5), [FieldOperation(World.Field.team, .set(.null))])
            try writer.insert(World.document(100, team: 7), ofClass: World.ClassIndex.document)
            try writer.update(World.document(51), [FieldOperation(World.Field.isPublic, .set(.bool(false)))])
        }
        try world.write("root") { try $0.insert(World.document(3, owner: "ada"), ofClass: World.ClassIndex.document) }
        world.readBeside()
        try check(world, "ada", "bob")
    }

    @Test(arguments: queries) func objectsAndRightsThatChangeInOneTransactionAreJudgedTogether(query: String) throws {
        let world = try world(query)
        try world.write("root") { writer in
            try writer.update(World.team(7), [FieldOperation(1, .set(.list([.link(.string("bob"))])))])
            try writer.delete(World.document(3))
            try writer.update(World.document(4), [FieldOperation(World.Field.owner, .set(.link(.string("ada"))))])
            try writer.update(World.document(5), [FieldOperation(World.Field.team, .set(.null))])
            try writer.insert(World.document(100, team: 7), ofClass: World.ClassIndex.document)
        }
        try check(world, "ada", "bob")
    }

    enum Break: CaseIterable, Sendable { case connection, client, server }

    /// Before anything was found, and when a page of several was sent.
    @Test(arguments: queries, Break.allCases) func whoIsCutOffMeanwhileEndsWithWhatItMayHave(
        query: String, broken: Break
    ) throws {
        for sentPageCount in 0...2 {
            let world = try world(query)
            world.delaysReadings = true
            try world.setTeam(7, ["bob"])
            if sentPageCount > 0 {
                world.sendsPages = false
                while let reading = world.engine.takeReading() {
                    reading.run()
                    world.finish(reading)
                }
                for _ in 1..<sentPageCount { world.step() }
            }
            switch broken {
            case .connection:
                world.disconnect("ada")
                world.delaysReadings = false
                world.sendsPages = true
                world.connect("ada")
            case .client:
                for user in ["ada", "bob"] { try world.crash(user) }
                world.delaysReadings = false
                world.sendsPages = true
                for user in ["ada", "bob"] {
                    world.connect(user)
                    try world.observe(user, query)
                }
            case .server:
                world.delaysReadings = false
                world.sendsPages = true
                try world.crashServer()
            }
            world.settle()
            try check(world, "ada", "bob")
            let readable = try world.readable("ada")
            #expect(try world.held("ada").allSatisfy(readable.contains))
        }
    }

    @Test(arguments: queries) func rightsThatChangeAgainMeanwhileAreWhatCounts(query: String) throws {
        for last in [["ada"], ["bob"], ["ada", "bob"], []] {
            let world = try world(query)
            world.delaysReadings = true
            try world.setTeam(7, ["bob"])
            try world.setTeam(7, last)
            world.readBeside()
            try check(world, "ada", "bob")
        }
    }

    @Test func severalSubscriptionsOfAClientMoveTogether() throws {
        let world = try world(Self.queries[0])
        for query in Self.queries[1...] { try world.observe("ada", query) }
        let before = world.engine.statistics.starts
        try world.setTeam(7, ["bob"])
        try check(world, "ada", "bob")
        // Nothing was sent again as a whole.
        #expect(world.engine.statistics.starts[.anew] == before[.anew])
    }

    /// The client drops what leaves the window, and the comparison, which waits, says nothing of users.
    @Test func whatAnotherSubscriptionLosesMeanwhileIsNotForbidden() throws {
        let world = try world(Self.queries[2])
        for query in ["User", "User SORT(id DESC) LIMIT(1)"] { try world.observe("ada", query) }
        world.delaysReadings = true
        try world.setTeam(7, ["bob"])
        try world.write("root") {
            try $0.insert(Row(key: .string("zoe"), values: [.string("zoe")]), ofClass: World.ClassIndex.user)
        }
        world.readBeside()
        #expect(world.problems.isEmpty, "\(world.problems.first ?? "")")
        #expect(world["ada"].removals[.string("root")] == .window)
        #expect(world["ada"].results["User"]?.count == 4)
    }

    @Test(arguments: queries, [0, 5]) func whoHasMoreThanASessionMayListIsSentEverythingAnew(
        query: String, comparedMemberCountMax: Int
    ) throws {
        let world = try world(query) { $0.comparedMemberCountMax = comparedMemberCountMax }
        let before = world.engine.statistics.starts
        world.delaysReadings = true
        try world.setTeam(7, ["bob"])
        world.disconnect("ada")
        world.connect("ada")
        world.readBeside()
        try check(world, "ada", "bob")
        try world.setTeam(7, ["ada"])
        try check(world, "ada", "bob")
        #expect(world.engine.statistics.starts[.anew] > before[.anew])
    }

    @Test(arguments: queries) func whoUnsubscribesMeanwhileLeavesNothing(query: String) throws {
        let world = try world(query)
        world.delaysReadings = true
        try world.setTeam(7, ["bob"])
        try world.stop("ada", query)
        try world.stop("bob", query)
        world.readBeside()
        // Atoms that nobody holds go with the next commit.
        try world.setTeam(8, [])
        #expect(world.engine.liveViewCount == 0)
        try world.observe("ada", query)
        try world.observe("bob", query)
        try check(world, "ada", "bob")
    }
}
