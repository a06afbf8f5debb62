import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// Group 14 of the cases: very many objects change hands at once.
@Suite struct MassRevocationTests {
    private typealias World = RuledWorld

    private static let frameByteCount = 8_192

    /// What goes on when the objects of ada's team become bob's.
    enum Moment: CaseIterable, Sendable {
        case connected, bootstrap, away, catchUp, reset
    }

    /// Documents of team 7; the last ten of them are everybody's.
    private func world(_ count: Int64, _ configure: (inout DatabaseLimits) -> Void = { _ in }) throws -> RuledWorld {
        var limits = DatabaseLimits()
        limits.pageRowCount = 100
        limits.pageByteCount = 4_096
        limits.frameByteCount = Self.frameByteCount
        configure(&limits)
        let world = try World(users: ["ada", "bob"], limits: limits)
        try world.setTeam(7, ["ada"])
        try world.write("root") { writer in
            for key in 1...count {
                let row = World.document(key, team: 7, isPublic: key > count - 10)
                try writer.insert(row, ofClass: World.ClassIndex.document)
            }
        }
        return world
    }

    private func changeTeam(_ world: RuledWorld) throws {
        try world.setTeam(7, ["bob"])
        try world.update("root", 1, World.Field.text, .string("secret"))
    }

    private func handOver(_ world: RuledWorld, _ moment: Moment) throws {
        let users = ["ada", "bob"]
        if moment == .bootstrap { world.sendsPages = false }
        for user in users { try world.observe(user, "Document") }
        switch moment {
        case .connected: try changeTeam(world)
        case .bootstrap:
            for _ in 0..<6 { world.step() }
            try changeTeam(world)
        case .away:
            for user in users { world.disconnect(user) }
            try changeTeam(world)
            for user in users { world.connect(user) }
        case .catchUp:
            for user in users { world.disconnect(user) }
            try world.setTeam(7, [])
            world.sendsPages = false
            for user in users { world.connect(user) }
            world.step()
            try changeTeam(world)
        case .reset:
            for user in users {
                world.disconnect(user)
                try forgeHistory(world[user].storage)
            }
            try changeTeam(world)
            for user in users { world.connect(user) }
        }
        world.sendsPages = true
        world.settle()
    }

    /// Has a store claim a history that the server never had: the client is told to begin anew.
    private func forgeHistory(_ storage: SQLiteClientStorage) throws {
        let state = try #require(storage.syncState)
        _ = try storage.transaction {
            try storage.setSyncState(
                SyncState(
                    databaseID: state.databaseID, epoch: state.epoch + 1, clientID: state.clientID,
                    nonce: state.nonce, version: state.version))
        }
    }

    @Test(arguments: Moment.allCases) func objectsChangeHandsWhateverGoesOn(moment: Moment) throws {
        let count: Int64 = 3_000
        let world = try world(count)
        try handOver(world, moment)
        #expect(try world.held("ada") == Array(count - 9...count))
        #expect(try world.held("bob") == Array(1...count))
        #expect(!world["ada"].texts.contains("secret") && world["bob"].texts.contains("secret"))
    }

    /// What was told to clients from a moment on.
    private struct Told {
        var rows = 0
        var departures = 0
        /// The most of both in one frame, which is what a queue holds at the least.
        var frameMax = 0

        init(_ frames: ArraySlice<[ServerMessage]>) {
            for frame in frames {
                var count = 0
                for message in frame {
                    let blocks: [ViewBlock] =
                        switch message {
                        case .page(let page): [page.content]
                        case .commit(let commit): commit.blocks.map(\.content)
                        default: []
                        }
                    for block in blocks {
                        rows += block.objects.count
                        departures += block.departures.count
                        count += block.objects.count + block.departures.count
                    }
                }
                frameMax = max(frameMax, count)
            }
        }
    }

    /// The hand-over of n and of 4 n objects: four times as much is told, in frames of at most the same size, and nothing twice.
    /// So a hundred thousand take no more memory at a time than a thousand.
    @Test(arguments: Moment.allCases, [50, .max])
    func whatAHandoverTellsGrowsWithTheObjectsAndItsFramesDoNot(moment: Moment, touchedObjectCountMax: Int) throws {
        func told(_ count: Int64) throws -> (ada: Told, bob: Told) {
            let world = try world(count) {
                $0.touchedObjectCountMax = min(touchedObjectCountMax, $0.touchedObjectCountMax)
            }
            try handOver(world, moment)
            #expect(try world.held("ada") == Array(count - 9...count))
            #expect(try world.held("bob") == Array(1...count))
            return (Told(world["ada"].frames[...]), Told(world["bob"].frames[...]))
        }
        for count in [300, 1_200] as [Int64] {
            let told = try told(count)
            // Ada is sent everything once, and what is left to her again at the most; bob the same the other way round.
            for told in [told.ada, told.bob] {
                #expect(told.rows <= 2 * Int(count) + 40 && told.departures <= Int(count), "\(told)")
                // A row or a departure takes 16 bytes at the least.
                #expect(told.frameMax <= Self.frameByteCount / 16, "\(told)")
            }
        }
    }
}
