import CSQLite
import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

/// Databases whose log is of file format 1: an entry a transaction, without redo data.
struct Format1Tests {
    /// Puts a log of format 1 in the place of a journal, as a program of that time wrote it: the transactions created
    /// car A, changed its price from 1 to 2, and deleted car B.
    private func makeFormat1(_ path: String) throws {
        var writer = ByteWriter()
        func entry(_ key: String, kind: UInt8, oldVersion: UInt64, written: PropertySet, _ olds: [Value]) -> String {
            writer = ByteWriter()
            writer.varint(1)
            Garage.carRef(key).encode(into: &writer)
            writer.byte(kind)
            writer.varint(oldVersion)
            written.encode(into: &writer)
            writer.array(olds) { $1.encode(into: &$0) }
            return writer.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        let entries = [
            entry("A", kind: 0, oldVersion: 0, written: [0, 1], []),
            entry("A", kind: 1, oldVersion: 1, written: [1], [.int(1)]),
            entry("B", kind: 2, oldVersion: 1, written: [], Garage.car("B").values),
        ]
        var sql = """
            DROP TABLE _journal; CREATE TABLE _log (version INTEGER PRIMARY KEY, client INTEGER NOT NULL, user TEXT, \
            timestamp INTEGER NOT NULL, accepted INTEGER NOT NULL, changes BLOB NOT NULL); PRAGMA user_version = 1;
            """
        for (offset, changes) in entries.enumerated() {
            sql += "INSERT INTO _log VALUES (\(offset + 1), 1, NULL, \(offset + 10), 100, x'\(changes)');"
        }
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    }

    private func make(_ path: String) throws {
        let storage = try Garage.server(.file(path))
        try storage.write {
            try storage.insert(Garage.car("A", price: 2, version: 2), ofClass: Garage.car)
            try storage.insert(Garage.car("B"), ofClass: Garage.car)
            try storage.delete(Garage.carRef("B"), version: 3)
        }
        storage.close()
        try makeFormat1(path)
    }

    private func open(_ path: String) throws -> SQLiteServerStorage {
        try SQLiteServerStorage.open(.file(path), databaseID: ObjectID(high: 0, low: 0))
    }

    @Test func aFileOfFormat1IsOpenedAndItsLogIsReadAndContinuedAndTrimmed() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("db")
        try make(path)
        for isFirst in [true, false] {
            let storage = try open(path)
            #expect(storage.version == (isFirst ? 3 : 4))
            #expect(storage.acceptedAt == Timestamp(microseconds: isFirst ? 100 : 200))
            let stamp = try storage.history(of: Garage.carRef("A"), since: 1).latestAssignment(of: 1)
            #expect(stamp?.version == (isFirst ? 2 : 4))
            #expect(try storage.history(of: Garage.carRef("B"), since: 1).latestDeletion?.version == 3)
            if isFirst {
                let change = JournalChange(Garage.carRef("A"), .update, written: [1], values: [.int(3)])
                try storage.write { try storage.record(at: 20, accepted: 200, [change]) }
            }
            let olds = try storage.oldImages(since: 1)
            #expect(olds.map(\.object) == ["A", "B"].map(Garage.carRef))
            #expect(olds.map { $0.row?.values[1] } == [.int(1), .int(0)])
            storage.close()
        }
        let storage = try open(path)
        #expect(storage.head.position == 1)
        #expect(try storage.trimLog(keepingVersions: 2, keepingBytes: .max, entriesMax: .max) == 2)
        #expect(try storage.oldImages(since: 2).map(\.object) == ["B", "A"].map(Garage.carRef))
        #expect(try storage.trimLog(keepingVersions: 0, keepingBytes: .max, entriesMax: .max) == 2)
        #expect(try storage.incarnation(of: Garage.carRef("B")) == 0, "the tombstone went with the log")
        #expect(storage.logStart == 4 && storage.version == 4)
        storage.close()
        #expect(try open(path).head.position == 3)
    }

    @Test func anOpenedFileSaysThatOlderProgramsCannotReadIt() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("db")
        try make(path)
        let storage = try open(path)
        try storage.checkpoint(truncating: true)
        storage.close()
        // The user version, in the header of the file.
        #expect(try Array(folder.bytes(of: "db")[60..<64]) == [0, 0, 0, 2])
    }
}
