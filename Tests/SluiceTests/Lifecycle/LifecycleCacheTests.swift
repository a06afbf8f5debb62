import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// What stays of objects that nobody observes.
    @Suite(.timeLimit(.minutes(10))) struct LifecycleCacheTests {
        private let server: TestServer

        init() throws { server = try TestServer() }

        private func open(_ limits: CacheLimits) async throws -> Store {
            try await server.open(lifecycleModels) { $0.cacheLimits = limits }
        }

        /// One whose name is its key. A query of the key alone leaves no record of its end.
        private func vehicle(_ vin: String) -> Vehicle {
            Vehicle(vin: vin, name: vin, plate: String(repeating: "p", count: 1_000))
        }

        /// Lets time pass, and the store look after its cache whenever that is due.
        private func pass(_ time: Duration) async throws { try await server.advance(by: time) }

        /// Lets much time pass at once, where it does not matter at which time the store has looked.
        private func skip(_ time: Duration, _ store: Store) throws {
            server.clock.advance(by: time)
            try store.core.performAndWait { _ in }
        }

        private func vins(_ store: Store) throws -> [String] {
            try store.objects(Vehicle.self).sorted(by: \.vin).fetch().map(\.vin)
        }

        @Test func whatNobodyHasObservedForLongGoesAndTheRestStays() async throws {
            let other = try await server.open()
            try await other.upload([vehicle("observed"), vehicle("left"), vehicle("late")])
            let store = try await open(CacheLimits(ageMax: .seconds(3_600)))
            let observed = try EventRecorder(store.objects(Vehicle.self).where { $0.vin == "observed" })
            try await observed.complete()
            _ = try await store.objects(Vehicle.self).where { $0.name.in(["left", "late"]) }.synced()
            try await store.upload([vehicle("written")])
            try await pass(.seconds(1_800))
            _ = try await store.objects(Vehicle.self).where { $0.name == "late" }.synced()
            #expect(try vins(store) == ["late", "left", "observed", "written"])
            try await pass(.seconds(1_900))
            // Everything is on the server still; "written" was found cached a minute after the store was opened.
            #expect(try vins(store) == ["late", "observed", "written"])
            server.cut(store)
            try await store.write { try $0.update(Vehicle(vin: "late", plate: "")) { $0.price = 7 } }
            try skip(.seconds(20_000), store)
            #expect(try vins(store) == ["late", "observed"])
            server.restore(store)
            try await store.uploaded()
            #expect(try await store.objects(Vehicle.self).sorted(by: \.vin).synced().map(\.vin).count == 4)
        }

        @Test func theOldestGoUntilTheRestFitsTheBudget() async throws {
            let other = try await server.open()
            try await other.upload((0..<8).map { vehicle("v\($0)") })
            let store = try await open(CacheLimits(byteCountMax: 5_000))
            for vin in ["v3", "v1", "v2", "v0", "v5", "v4"] {
                _ = try await store.objects(Vehicle.self).where { $0.name == vin }.synced()
                try await pass(.seconds(1))
            }
            #expect(try vins(store).count == 6)
            let observed = try EventRecorder(store.objects(Vehicle.self).where { $0.vin == "v3" })
            try await observed.complete()
            try await pass(.seconds(700))
            // About 1,230 bytes each: four fit, besides the one that is observed.
            #expect(try vins(store) == ["v0", "v2", "v3", "v4", "v5"])
        }

        @Test func whatAnObservedQueryShowsBeforeItIsCompleteStays() async throws {
            let other = try await server.open()
            try await other.upload([vehicle("a"), vehicle("b")])
            let store = try await open(CacheLimits(ageMax: .seconds(60)))
            _ = try await store.objects(Vehicle.self).synced()
            server.cut(store)
            let recorder = try EventRecorder(store.objects(Vehicle.self).where { $0.vin == "a" })
            try await recorder.event { $0.results.count == 1 }
            try skip(.seconds(4_000), store)
            #expect(try vins(store) == ["a"])
        }

        @Test func whatHasEditsOfCollectionsWaitingStaysUntilTheyAreUploaded() async throws {
            let other = try await server.open([Board.self])
            try await other.upload([Board(id: "a", tags: ["x"], lines: ["one", "two"]), Board(id: "b")])
            let store = try await server.open([Board.self]) {
                $0.cacheLimits = CacheLimits(byteCountMax: 0, ageMax: .seconds(60))
            }
            let boards = try await store.objects(Board.self).synced()
            server.cut(store)
            let board = try #require(boards.first { $0.id == "a" })
            try await store.write { tx in
                try tx.update(board) { $0.tags.insert("y") }
                try tx.move(board, \.lines, from: 1, to: 0)
            }
            try skip(.seconds(4_000), store)
            let kept = try store.objects(Board.self).fetch()
            #expect(kept.map(\.lines) == [["two", "one"]] && kept.map(\.tags) == [["x", "y"]])
            server.restore(store)
            try await store.uploaded()
            try skip(.seconds(4_000), store)
            #expect(try store.objects(Board.self).fetch().isEmpty)
            let merged = try #require(try await other.objects(Board.self).where { $0.id == "a" }.synced().first)
            #expect(merged.lines == ["two", "one"] && merged.tags == ["x", "y"])
        }

        @Test func withoutLimitsNothingGoes() async throws {
            let store = try await server.open()
            try await store.upload([vehicle("a")])
            try skip(.seconds(10_000_000), store)
            #expect(try vins(store) == ["a"])
        }

        /// It has been used up to the end of the process, whenever the query began.
        @Test func whatWasObservedWhenTheProcessEndedIsAsOldAsTheNextOpening() async throws {
            let path = NSTemporaryDirectory() + "sluice-cache-\(UUID().uuidString)"
            defer {
                for suffix in ["", "-wal", "-shm", "-lock", "-marker"] {
                    try? FileManager.default.removeItem(atPath: path + suffix)
                }
            }
            let other = try await server.open()
            try await other.upload([vehicle("a")])
            let limits = CacheLimits(ageMax: .seconds(3_600))
            let store = try await server.open(lifecycleModels, path: path) { $0.cacheLimits = limits }
            let recorder = try EventRecorder(store.objects(Vehicle.self))
            try await recorder.complete()
            try skip(.seconds(10_000), store)
            await store.close()
            let again = try await server.open(lifecycleModels, path: path) { $0.cacheLimits = limits }
            try await pass(.seconds(1_800))
            #expect(try vins(again) == ["a"])
            try await pass(.seconds(3_600))
            #expect(try vins(again).isEmpty)
        }
    }
#endif
