import SluiceModel
import Testing

@testable import SluiceStorage

/// A store whose writes are synced, and what a power cut takes from it: everything after the last sync.
struct PowerCutTests {
    private func open(_ folder: TemporaryFolder, _ name: String, _ durability: StorageDurability = .full) throws
        -> SQLiteClientStorage
    {
        let storage = try SQLiteClientStorage.open(.file(folder.file(name)), durability: durability)
        try storage.write { _ = try storage.merge(try Garage.schema(), sides: ("the store", "the test")) }
        return storage
    }

    private func receive(_ vin: String, in storage: SQLiteClientStorage) throws {
        try storage.receive { try storage.insert(Garage.car(vin), ofClass: Garage.car) }
    }

    @Test func whatTheServerSentAndNothingElseIsLostAndTheStoreOpens() throws {
        let folder = try TemporaryFolder()
        let storage = try open(folder, "store")
        try storage.write { try storage.insert(Garage.car("written"), ofClass: Garage.car) }
        let synced = try folder.bytes(of: "store-wal").count
        try receive("sent", in: storage)
        #expect(try folder.bytes(of: "store-wal").count > synced)
        // The marker, which is not synced either, may still have reached the disk.
        for end in ["", "-marker"] { try folder.write(try folder.bytes(of: "store" + end), to: "cut" + end) }
        try folder.write(Array(try folder.bytes(of: "store-wal").prefix(synced)), to: "cut-wal")
        storage.close()
        let cut = try SQLiteClientStorage.open(.file(folder.file("cut")), durability: .full)
        #expect(try cut.isPresent(Garage.carRef("written")) && !cut.isPresent(Garage.carRef("sent")))
        cut.close()
    }

    @Test func onlyWhatTheServerSentIsNotSynced() throws {
        let folder = try TemporaryFolder()
        for (durability, expected) in [
            (StorageDurability.full, [2, 1, 2, 1] as [Int64?]), (.process, [1, 1, 1, 1]),
        ] {
            let storage = try open(folder, "\(durability)", durability)
            var levels: [Int64?] = []
            for isReceiving in [false, true, false, true] {
                func note() throws { levels.append(try storage.connection.integer("PRAGMA synchronous")) }
                try isReceiving ? storage.receive(note) : storage.transaction(note)
            }
            #expect(levels == expected, "\(durability)")
            storage.close()
        }
    }

    @Test func aWriteCountsInTheMarkerAgainAfterWhatTheServerSent() throws {
        let folder = try TemporaryFolder()
        let storage = try open(folder, "store")
        let before = storage.commitCount
        try receive("sent", in: storage)
        #expect(storage.commitCount == before)
        try storage.write { try storage.insert(Garage.car("written"), ofClass: Garage.car) }
        #expect(storage.commitCount == before + 1)
        // A log without the write is refused.
        for end in ["", "-marker"] { try folder.write(try folder.bytes(of: "store" + end), to: "cut" + end) }
        storage.close()
        let error = #expect(throws: StorageError.self) {
            try SQLiteClientStorage.open(.file(folder.file("cut")), durability: .full)
        }
        #expect(error?.code == .vanished)
    }
}
