import CSQLite
import Glibc
import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

/// Measures throughput beside raw SQLite. Run with `SLUICE_MEASURE=1 swift test -c release --filter Measurements`.
@Suite(.enabled(if: getenv("SLUICE_MEASURE") != nil), .serialized)
struct Measurements {
    private let count = 336_776

    /// A class like a flight: eight scalars and, with `links`, four links.
    private func schema(links: Bool) throws -> Schema {
        var properties = ["year", "month", "day", "flight"].map { Property($0, .scalar(.int)) }
        properties += ["delay", "distance"].map { Property($0, .scalar(.double, isOptional: true)) }
        properties += ["carrier", "code"].map { Property($0, .scalar(.string)) }
        if links { properties += ["plane", "airline", "origin", "dest"].map { Property($0, .link("Target")) } }
        return try Schema([
            ClassSchema("Flight", properties: properties),
            ClassSchema("Target", primaryKey: "code", properties: [Property("code", .scalar(.string))]),
        ])
    }

    private func row(_ number: Int, links: Bool) -> Row {
        var values: [Value] = [
            .int(2013), .int(Int64(number % 12)), .int(Int64(number % 31)), .int(Int64(number)),
            .double(Double(number % 100)), number % 7 == 0 ? .null : .double(Double(number) / 3), .string("UA"),
            .string("code-\(number % 5_000)-of-flight"),
        ]
        if links {
            let targets = [number % 3_000, 4_000 + number % 16, 5_000 + number % 3, 6_000 + number % 105]
            values += targets.map { .link(.string("N\($0)")) }
        }
        return Row(key: .id(ObjectID(high: 77, low: UInt64(number))), version: 1, values: values)
    }

    private func report(_ what: String, _ count: Int, _ body: () throws -> Void) rethrows {
        let duration = try ContinuousClock().measure(body)
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        print("\(what): \(Int(Double(count) / seconds)) rows/s")
    }

    @Test(arguments: [false, true])
    func server(links: Bool) throws {
        let folder = try TemporaryFolder()
        let storage = try SQLiteServerStorage.open(.file(folder.file("db")), databaseID: ObjectID(high: 1, low: 1))
        try storage.write { _ = try storage.merge(schema(links: links), sides: ("a", "b")) }
        let rows = (0..<count).map { row($0, links: links) }
        let kind = links ? "8 columns and 4 links" : "8 columns"
        try report("insert, \(kind)", count) {
            for start in stride(from: 0, to: count, by: 10_000) {
                try storage.write {
                    for row in rows[start..<min(start + 10_000, count)] { try storage.insert(row, ofClass: 0) }
                }
            }
        }
        try report("read in order of storage, \(kind)", count) {
            var read = 0
            try storage.forEachRow(ofClass: 0) { _ in
                read += 1
                return true
            }
            #expect(read == count)
        }
        try report("read by key, \(kind)", count) {
            for row in rows where try storage.row(ObjectRef(0, row.key)) == nil { Issue.record("a row is missing") }
        }
        try report("update of one property, \(kind)", count) {
            try storage.write { for row in rows { try storage.update(row, ofClass: 0, changed: [4]) } }
        }
        let copy = try SQLiteServerStorage.open(.file(folder.file("copy")), databaseID: ObjectID(high: 1, low: 1))
        try copy.write { _ = try copy.merge(schema(links: links), sides: ("a", "b")) }
        try report("groups of creates, \(kind)", count) {
            for start in stride(from: 0, to: count, by: 1_000) {
                let creations = rows[start..<min(start + 1_000, count)].map { JournalChange.create($0, ofClass: 0) }
                try copy.write { try copy.record(creations) }
            }
        }
    }

    @Test func client() throws {
        let folder = try TemporaryFolder()
        let storage = try SQLiteClientStorage.open(.file(folder.file("store")))
        let id = try storage.write {
            _ = try storage.merge(schema(links: true), sides: ("a", "b"))
            return try storage.addSubscription(ClientStoreTests.record("q")).id
        }
        let rows = (0..<count).map { row($0, links: true) }
        try report("put as a member, 8 columns and 4 links", count) {
            for start in stride(from: 0, to: count, by: 2_000) {
                try storage.write {
                    for row in rows[start..<min(start + 2_000, count)] {
                        try storage.put(row, ofClass: 0)
                        try storage.addMember(ObjectRef(0, row.key), role: .root, to: id)
                    }
                }
            }
        }
        try report("read members through a reader", count) {
            var read = 0
            try storage.read { reader in
                try reader.forEachMemberRow(of: id, role: .root) { row in
                    _ = try row.row()
                    read += 1
                    return true
                }
            }
            #expect(read == count)
        }
        try report("local writes with outbox and base image", 100_000) {
            for start in stride(from: 0, to: 100_000, by: 1_000) {
                try storage.write {
                    var operations: [ObjectOperation] = []
                    for row in rows[start..<start + 1_000] {
                        let object = ObjectRef(0, row.key)
                        try storage.update(row, ofClass: 0, changed: [4])
                        try storage.setBaseImage(.row(row), of: object)
                        operations.append(ObjectOperation(object, .update([FieldOperation(4, .set(row.values[4]))])))
                    }
                    try storage.appendToOutbox(
                        Changeset(
                            sequence: storage.lastSequence + 1, baseVersion: 0, timestamp: .init(microseconds: 0),
                            operations: operations))
                }
            }
        }
    }

    @Test func rawInserts() throws {
        let folder = try TemporaryFolder()
        var handle: OpaquePointer?
        sqlite3_open(folder.file("raw"), &handle)
        sqlite3_exec(
            handle, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=OFF", nil, nil, nil)
        sqlite3_exec(
            handle,
            """
            CREATE TABLE t (row INTEGER PRIMARY KEY, hi INTEGER, lo INTEGER, state INTEGER, version INTEGER, a INTEGER,
            b INTEGER, c INTEGER, d INTEGER, e REAL, f REAL, g TEXT, h TEXT, UNIQUE (hi, lo))
            """, nil, nil, nil)
        var statement: OpaquePointer?
        sqlite3_prepare_v2(handle, "INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &statement, nil)
        let texts = (0..<5_000).map { Array("code-\($0)-of-flight".utf8CString) }
        report("raw insert, 8 columns", count) {
            for start in stride(from: 0, to: count, by: 10_000) {
                sqlite3_exec(handle, "BEGIN", nil, nil, nil)
                for number in start..<min(start + 10_000, count) {
                    sqlite3_bind_int64(statement, 1, Int64(number + 1))
                    sqlite3_bind_int64(statement, 2, 77)
                    for column in 3...9 as ClosedRange<Int32> { sqlite3_bind_int64(statement, column, Int64(number)) }
                    sqlite3_bind_double(statement, 10, Double(number % 100))
                    sqlite3_bind_double(statement, 11, Double(number) / 3)
                    sqlite3_bind_text(statement, 12, "UA", 2, nil)
                    texts[number % 5_000].withUnsafeBufferPointer {
                        _ = sqlite3_bind_text(statement, 13, $0.baseAddress, Int32($0.count - 1), nil)
                        sqlite3_step(statement)
                    }
                    sqlite3_reset(statement)
                }
                sqlite3_exec(handle, "COMMIT", nil, nil, nil)
            }
        }
        sqlite3_finalize(statement)
        sqlite3_close(handle)
    }
}
