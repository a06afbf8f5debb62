import SluiceModel
import SluiceWire
import TestSupport
import Testing

@testable import SluiceStorage

/// What the server has said that queries compute, as a client's store keeps it.
struct StoredFiguresTests {
    private func groups(_ numbers: some Sequence<Int>) -> [Value] {
        numbers.map { .list([.list([.int(Int64($0))]), .int(1), .int(Int64($0))]) }
    }

    @Test(arguments: [0, 1, 64, 65, 1_000])
    func figuresAreThoseThatWereStoredLast(count: Int) throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        var record: SubscriptionRecord
        do {
            let storage = try Garage.client(location)
            record = try storage.write { try storage.addSubscription(ClientStoreTests.record("q")) }
            // Parts of the longer list must not stay.
            for figures in [groups(0..<200), groups(0..<count)] {
                record.figures = figures
                try storage.write { try storage.updateSubscription(record) }
            }
        }
        for figures in [groups(5..<300), nil] {
            let storage = try SQLiteClientStorage.open(location)
            #expect(storage.subscriptions == [record])
            record.figures = figures
            try storage.write { try storage.updateSubscription(record) }
        }
        let storage = try SQLiteClientStorage.open(location)
        #expect(storage.subscriptions == [record])
    }

    @Test func aChangeOfOneOfManyGroupsWritesAsMuchAsThatOfOneOfFew() throws {
        let storage = try Garage.client()
        var record = try storage.write { try storage.addSubscription(ClientStoreTests.record("q")) }
        func writtenCount(_ figures: [Value]) throws -> Int64 {
            let before = try storage.connection.integer("SELECT total_changes()") ?? 0
            record.figures = figures
            try storage.write { try storage.updateSubscription(record) }
            return try (storage.connection.integer("SELECT total_changes()") ?? 0) - before
        }
        _ = try writtenCount(groups(0..<10))
        let few = try writtenCount(groups([1_000_000] + Array(1..<10)))
        _ = try writtenCount(groups(0..<10_000))
        #expect(try writtenCount(groups(Array(0..<5_000) + [1_000_000] + Array(5_001..<10_000))) == few)
    }

    @Test func aRollbackLeavesTheFiguresThatWere() throws {
        struct Refusal: Error {}
        let storage = try Garage.client()
        var record = try storage.write { try storage.addSubscription(ClientStoreTests.record("q")) }
        record.figures = groups(0..<300)
        try storage.write { try storage.updateSubscription(record) }
        #expect(throws: Refusal.self) {
            try storage.write {
                var changed = record
                changed.figures = groups(0..<10)
                try storage.updateSubscription(changed)
                throw Refusal()
            }
        }
        #expect(storage.subscriptions == [record])
        record.figures = groups(0..<299)
        try storage.write { try storage.updateSubscription(record) }
        #expect(try ClientState(stored: storage.connection).subscriptions[record.id] == record)
    }
}
