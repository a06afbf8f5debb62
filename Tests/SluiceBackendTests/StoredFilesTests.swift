import Foundation
import SluiceBackend
import SluiceModel
import TestSupport
import Testing

@Model struct Shelf {
    @PrimaryKey var id: Int
    var name = "shelf"
    var count = 0
    var items: [String] = []
    var tags: Set<String> = []
    var next: Link<Shelf>?
}

@Model struct Jotting {
    var text = ""
    var shelves: Links<Shelf> = []
}

/// Files of the present format that were written once and for all: a server's data, and a store that went offline from it
/// with writes that nobody else has. They are opened here, so a change of what files mean is noticed.
@Suite(.timeLimit(.minutes(10))) struct StoredFilesTests {
    private static let models: [any Model.Type] = [Shelf.self, Jotting.self]

    private static let file: String = {
        let root = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        return root + "/Fixtures/format-1.tar.gz"
    }()

    /// When the files were written, in microseconds since 1970.
    private static let written: Int64 = 1_795_692_798_000_000

    /// The list of shelf 1 on the server, and as the store shows it.
    private static let synced =
        ["1-9", "1-0", "1-1", "1-2", "ben"] + (3..<40).filter { $0 != 9 }.map { "1-\($0)" } + ["ann"]
    private static let shown: [String] = {
        var items = synced
        items.insert("offline", at: 1)
        items.remove(at: 5)
        return items
    }()

    private static func unpack(into folder: String) async throws {
        let exit = try await run("tar", ["xzf", file, "-C", folder])
        #expect(exit?.code == 0, "\(String(describing: exit))")
    }

    private static func configuration(_ folder: String, _ network: LoopbackNetwork) -> ServerConfiguration {
        var configuration = ServerConfiguration(dataFolder: folder + "/data", host: "server", isDevelopment: true)
        configuration.loopback = network
        return configuration
    }

    private static func sync(_ network: LoopbackNetwork) -> SyncConfiguration {
        var sync = SyncConfiguration(url: "ws://server/nyc")
        sync.loopback = network
        sync.reconnectDelay = .milliseconds(1)
        sync.reconnectDelayMax = .milliseconds(20)
        return sync
    }

    /// Writes the files anew. What it prints belongs into ``written``.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["SLUICE_WRITE_FILES"] != nil))
    func `the files are written`() async throws {
        try await withFolder { folder in
            let network = LoopbackNetwork()
            let server = try SyncServer(Self.configuration(folder, network))
            try server.start()
            let sync = Self.sync(network)
            let ann = try await Store.open(
                StoreConfiguration(path: folder + "/ann.sluice", models: Self.models, sync: sync))
            let query = ann.objects(Shelf.self).where { $0.id < 100 }
            let token = try query.observe { _ in }
            try await ann.write { transaction in
                for id in 1...20 {
                    let items = (0..<40).map { "\(id)-\($0)" }
                    try transaction.insert(Shelf(id: id, count: id, items: items, tags: ["a", "b"]))
                }
                try transaction.insert(
                    Jotting(text: "first", shelves: Links([1, 2, 77].map { Shelf(id: $0) })))
            }
            try await ann.uploaded(timeout: waitMax)
            let ben = try await Store.open(StoreConfiguration(models: Self.models, sync: sync))
            _ = try await ben.objects(Shelf.self).synced(timeout: waitMax)
            try await ben.write { transaction in
                try transaction.insert(Shelf(id: 1), \.items, "ben", at: 3)
                try transaction.move(Shelf(id: 1), \.items, from: 10, to: 0)
                try transaction.update(Shelf(id: 2)) {
                    $0.tags.insert("ben")
                    $0.name = "second"
                }
                try transaction.increment(Shelf(id: 3), \.count, by: 100)
                try transaction.delete(Shelf(id: 20))
            }
            try await ben.uploaded(timeout: waitMax)
            try await wait(for: "ben's writes") { try ann.object(Shelf.self, key: 20) == nil }
            try await ann.write { try $0.append(Shelf(id: 1), \.items, "ann") }
            try await ann.uploaded(timeout: waitMax)
            try ann.session?.stop()
            try await ann.write { transaction in
                try transaction.insert(Shelf(id: 1), \.items, "offline", at: 1)
                try transaction.remove(Shelf(id: 1), \.items, at: 5)
                try transaction.update(Shelf(id: 4)) {
                    $0.tags.insert("offline")
                    $0.tags.remove("a")
                }
                try transaction.increment(Shelf(id: 5), \.count, by: 7)
                try transaction.delete(Shelf(id: 6))
            }
            try await ann.write { transaction in
                for id in 30..<50 { try transaction.insert(Shelf(id: id, name: "new \(id)", count: id)) }
                try transaction.insert(Jotting(text: "second"))
            }
            // The token lives on, so that its objects stay.
            await ann.close()
            withExtendedLifetime(token) {}
            await ben.close()
            await server.stop()
            let names = ["ann.sluice", "data/nyc.sluicedb"].flatMap { [$0, $0 + "-marker"] }
            let exit = try await run("tar", ["czf", Self.file, "-C", folder] + names)
            #expect(exit?.code == 0, "\(String(describing: exit))")
            print("written:", Int64(Date().timeIntervalSince1970) * 1_000_000)
        }
    }

    @Test func filesAreOpenedKeepPendingWritesAndListsAndSyncOn() async throws {
        try await withFolder { folder in
            try await Self.unpack(into: folder)
            let network = LoopbackNetwork()
            var configuration = Self.configuration(folder, network)
            // An hour later by the server's clock, whenever that is by others: nobody was away for too long.
            let start = ContinuousClock.now
            configuration.now = {
                let passed = Int64((ContinuousClock.now - start) / .microseconds(1))
                return Timestamp(microseconds: Self.written + passed + 3_600_000_000)
            }
            let server = try SyncServer(configuration)
            try server.start()
            let nyc = try await server.database("nyc", models: Self.models)
            #expect(try await nyc.objects(Shelf.self).count() == 19)
            #expect(try await nyc.object(Shelf.self, key: 1)?.items == Self.synced)
            let second = try #require(try await nyc.object(Shelf.self, key: 2))
            #expect(second.name == "second" && second.tags == ["a", "b", "ben"])
            #expect(try await nyc.object(Shelf.self, key: 3)?.count == 103)

            let sync = Self.sync(network)
            var stored = StoreConfiguration(path: folder + "/ann.sluice", models: Self.models, sync: sync)
            stored.startsSyncing = false
            let ann = try await Store.open(stored)
            #expect(try ann.outgoingCount() == 2)
            #expect(try ann.object(Shelf.self, key: 1)?.items == Self.shown)
            #expect(try ann.object(Shelf.self, key: 4)?.tags == ["b", "offline"])
            #expect(try ann.object(Shelf.self, key: 5)?.count == 12)
            #expect(try ann.object(Shelf.self, key: 6) == nil)
            #expect(try ann.objects(Shelf.self).count() == 38)

            // What others write meanwhile merges with what was written offline.
            try await nyc.write { transaction in
                try transaction.append(Shelf(id: 1), \.items, "server")
                try transaction.update(Shelf(id: 4)) { $0.tags.insert("server") }
                try transaction.increment(Shelf(id: 5), \.count, by: 10)
                try transaction.insert(Shelf(id: 30, count: 3))
            }
            try ann.session?.start()
            try await ann.uploaded(timeout: waitMax)
            let merged = Self.shown + ["server"]
            let query = ann.objects(Shelf.self).where { $0.id < 100 }.sorted(by: \.id)
            let fresh = try await Store.open(StoreConfiguration(models: Self.models, sync: sync))
            for store in [ann, fresh] {
                let shelves = try await store.objects(Shelf.self).where { $0.id < 100 }.sorted(by: \.id)
                    .synced(timeout: waitMax)
                #expect(shelves.map(\.id) == (1..<20).filter { $0 != 6 } + Array(30..<50))
                #expect(shelves[0].items == merged)
                #expect(shelves[3].tags == ["b", "offline", "server"])
                #expect(shelves[4].count == 22)
                // The server has written the count later.
                #expect(shelves[18].name == "new 30" && shelves[18].count == 3)
            }
            #expect(try await nyc.objects(Jotting.self).count() == 2)
            let first = try #require(try await nyc.objects(Jotting.self).where { $0.text == "first" }.first())
            #expect(first.shelves.count == 3)

            // And on: elements that are in the files are edited by both.
            let token = try query.observe { _ in }
            try await ann.write { try $0.remove(Shelf(id: 1), \.items, at: 0) }
            try await nyc.write { try $0.update(Shelf(id: 1)) { $0.items.removeAll { $0 == "offline" } } }
            try await ann.uploaded(timeout: waitMax)
            let end = Array(merged.dropFirst().filter { $0 != "offline" })
            try await wait(for: "both edits") { try ann.object(Shelf.self, key: 1)?.items == end }
            #expect(try await nyc.object(Shelf.self, key: 1)?.items == end)
            token.stop()
            await ann.close()
            await fresh.close()
            await server.stop()
        }
    }
}
