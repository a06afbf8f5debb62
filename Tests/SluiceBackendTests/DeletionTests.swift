import SluiceBackend
import SluiceTesting
import Testing

/// Deletions of more than one transaction may have.
struct DeletionTests {
    private static func fill(_ nyc: ServerDatabase, _ count: Int) async throws {
        for start in stride(from: 0, to: count, by: 20_000) {
            try await nyc.write { transaction in
                for number in start..<min(start + 20_000, count) {
                    try transaction.upsert(Flight(id: "F\(number)", delay: number % 2))
                }
            }
        }
    }

    @Test func `all that a query finds is deleted, however many there are`() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        try await Self.fill(nyc, 120_000)
        // One transaction is too small for that.
        await #expect(throws: StoreError.self) {
            try await nyc.write { try $0.delete(all: $0.objects(Flight.self)) }
        }
        #expect(try await nyc.delete(all: nyc.objects(Flight.self).where { $0.delay == 1 }) == 60_000)
        #expect(try await nyc.objects(Flight.self).count() == 60_000)
        #expect(try await nyc.delete(all: nyc.objects(Flight.self).sorted(by: \.id).limit(15_000)) == 15_000)
        #expect(try await nyc.delete(all: nyc.objects(Flight.self)) == 45_000)
        #expect(try await nyc.delete(all: nyc.objects(Flight.self)) == 0)
    }

    @Test func `a store deletes what it does not have`() async throws {
        let server = try TestServer()
        let nyc = try await server.database(models: models)
        try await Self.fill(nyc, 25_000)
        let store = try await server.open(models)
        #expect(try await store.delete(all: store.objects(Flight.self).where { $0.delay == 1 }) == 12_500)
        #expect(try await nyc.objects(Flight.self).count() == 12_500)
        #expect(try await store.delete(all: store.objects(Flight.self).limit(10)) == 10)
        #expect(try await store.delete(all: store.objects(Flight.self)) == 12_490)
        #expect(try await nyc.objects(Flight.self).count() == 0)
    }

    @Test func `a deletion that the rules refuse ends with the reason`() async throws {
        let desk = try await JobDesk(isOverStore: true, delays: [60])
        try await desk.nyc.write { try $0.insert(Note(text: "kept")) }
        let store = try #require(desk.store)
        await #expect { try await store.delete(all: store.objects(Note.self)) } throws: {
            ($0 as? SyncError)?.code == .notPermitted
        }
        #expect(try await desk.nyc.objects(Note.self).count() == 1)
    }

    @Test(arguments: [false, true])
    func `the last batch of changes says how far the log was read`(isOverStore: Bool) async throws {
        let desk = try await JobDesk(isOverStore: isOverStore, delays: [])
        var checkpoint: Checkpoint?
        func count() async throws -> Int {
            var count = 0
            let flights =
                try desk.store.map { try $0.objects(Flight.self).changes(since: checkpoint) }
                ?? desk.nyc.objects(Flight.self).changes(since: checkpoint)
            for try await batch in flights {
                #expect(batch.upserts.isEmpty && batch.removals.isEmpty && !batch.isReset)
                checkpoint = batch.checkpoint
                count += 1
            }
            return count
        }
        #expect(try await count() == 1)
        let first = try #require(checkpoint?.version)
        #expect(try await count() == 0)
        for number in 0..<50 { try await desk.nyc.write { try $0.insert(Note(text: "\(number)")) } }
        #expect(try await count() == 1)
        #expect(try #require(checkpoint?.version) == first + 50)
    }
}
