import Foundation
import Sluice
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// Stores before they have a server, read-only stores, and how long a store stays open.
    @Suite(.timeLimit(.minutes(10))) struct LifecycleStoreTests {
        private let server: TestServer

        init() throws { server = try TestServer() }

        private func withPath(_ body: (String) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.path + "/sluice-store-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await body(folder + "/store.sluice")
        }

        @Test func aStoreThatSyncsWithNothingJudgesWhatLinksToAnObjectByWhatIsHere() async throws {
            let local = try await Store.open(StoreConfiguration(models: lifecycleModels))
            try await local.write { tx in
                try tx.insert(Person(name: "Ann", age: 40))
                try tx.insert(Person(name: "Bob", age: 40))
                try tx.insert(Vehicle(vin: "a", price: 5, plate: "P", owners: [Link(key: "Ann")]))
            }
            let owners = local.objects(Person.self).filter("@links.Vehicle.owners.@sum.price * 2 > 9")
            #expect(try owners.fetch().map(\.name) == ["Ann"])
            let recorder = try EventRecorder(owners)
            try await recorder.event { $0.results.count == 1 }
            try await local.write { try $0.insert(Vehicle(vin: "b", price: 6, plate: "P", owners: [Link(key: "Bob")])) }
            try await recorder.event { $0.results.count == 2 }
            let oldest = local.objects(Person.self).filter("TRUEPREDICATE SORT(name DESC) DISTINCT(age)")
            #expect(try oldest.fetch().map(\.name) == ["Bob"] && oldest.count() == 1)
            await local.close()
        }

        @Test func whatWasWrittenBeforeThereWasAServerIsUploadedOnceThereIs() async throws {
            try await withPath { path in
                let local = try await Store.open(StoreConfiguration(path: path, models: lifecycleModels))
                try await local.write { tx in
                    try tx.insert(Person(name: "Ann", age: 40))
                    try tx.insert(Vehicle(vin: "a", plate: "P", owners: [Link(key: "Ann")]))
                    try tx.insert(Vehicle(vin: "gone", plate: "P"))
                }
                try await local.write { try $0.delete(Vehicle.self, key: "gone") }
                await local.close()
                let synced = try await server.open(lifecycleModels, path: path)
                try await synced.uploaded()
                let bob = try await server.open()
                let vehicles = try await bob.objects(Vehicle.self).synced()
                #expect(vehicles.map(\.vin) == ["a"])
                #expect(try vehicles.first?.owners.map { try $0.fetch()?.age } == [40])
                await synced.close()
                // The upload happens once: a later start has nothing to upload.
                let again = try await server.open(lifecycleModels, path: path)
                try await bob.write { try $0.delete(Vehicle.self, key: "a") }
                try await bob.uploaded()
                try await again.uploaded()
                #expect(try await again.objects(Vehicle.self).synced().isEmpty)
                #expect(try await server.open().objects(Vehicle.self).synced().isEmpty)
            }
        }

        @Test func whatIsWrittenWhileAStoreIsOpenWithoutItsServerIsUploadedLater() async throws {
            try await withPath { path in
                let first = try await server.open(lifecycleModels, path: path)
                try await first.upload(vins: "a")
                await first.close()
                let local = try await Store.open(StoreConfiguration(path: path, models: lifecycleModels))
                try await local.write { try $0.insert(Vehicle(vin: "b", plate: "P")) }
                await local.close()
                let second = try await server.open(lifecycleModels, path: path)
                try await second.uploaded()
                let vehicles = try await server.open().objects(Vehicle.self).synced()
                #expect(Set(vehicles.map(\.vin)) == ["a", "b"])
            }
        }

        @Test func aReaderSyncsAndCannotWrite() async throws {
            let alice = try await server.open()
            try await alice.upload(vins: "a")
            let reader = try await server.open(lifecycleModels) { $0.sync?.access = .readOnly }
            let recorder = try EventRecorder(reader.objects(Vehicle.self))
            #expect(try await recorder.complete().vins == ["a"])
            let error = await #expect(throws: StoreError.self) {
                try await reader.write { try $0.insert(Vehicle(vin: "b", plate: "P")) }
            }
            #expect(error?.code == .readOnly)
            // The reader resumes with what it has, although the server keeps no record of it.
            server.cut(reader)
            try await alice.upload(vins: "c")
            server.restore(reader)
            let change = try await recorder.event { Set($0.vins) == ["a", "c"] }
            #expect(change.insertions.count == 1 && change.deletions.isEmpty)
        }

        @Test func aStoreStaysOpenAsLongAsResultsOrTokensOfItAreAbout() async throws {
            var store: Store? = try await server.open()
            let alice = try await server.open()
            var results = store?.objects(Vehicle.self)
            store = nil
            #expect(try results?.count() == 0)
            let vins = AsyncStream.makeStream(of: [String].self)
            let token = try results?.observe { vins.continuation.yield($0.vins) }
            results = nil
            try await alice.upload(vins: "a")
            for await seen in vins.stream where seen == ["a"] { break }
            token?.stop()
        }

        @Test func observersHearThatTheServerRefusesTheirStore() async throws {
            let stranger = try await server.open(lifecycleModels, database: "no.such.name")
            let recorder = try EventRecorder(stranger.objects(Vehicle.self))
            let change = try await recorder.event { $0.state == .error }
            #expect(change.remote == nil && change.insertions.isEmpty)
        }
    }

    /// Rejected writes reach every handler, even a handler that is added later.
    @Suite struct RejectionCenterTests {
        private func rejection(_ number: Int64) -> WriteRejection {
            WriteRejection(object: nil, reason: .init(.writeRejected, "no"), rejectedValues: ["n": .int(number)])
        }

        @Test func theFirstHandlerGetsWhatCameBeforeItUpToALimit() async {
            let calls = HandlerSequence(.pool(HandlerPool()))
            let center = RejectionCenter(calls, GateGroup())
            for number in 1...1_005 { center.report(rejection(Int64(number))) }
            nonisolated(unsafe) var first: [Value?] = []
            nonisolated(unsafe) var second: [Value?] = []
            let tokens = [
                center.add { first.append($0.rejectedValues["n"]) },
                center.add { second.append($0.rejectedValues["n"]) },
            ]
            center.report(rejection(2_000))
            await calls.pass()
            #expect(first == (6...1_005).map { .int($0) } + [.int(2_000)])
            #expect(second == [.int(2_000)])
            for token in tokens { token.stop() }
        }
    }
#endif
