import Foundation
import SluiceModel
import SluiceStorage
import Testing

/// A database whose file may not grow any more.
struct FileQuotaTests {
    private static func schema() throws -> Schema {
        try Schema([
            ClassSchema(
                "Note", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("text", .scalar(.string))])
        ])
    }

    @Test func aFullDatabaseSaysItsQuotaKeepsWhatItHasAndGrowsAgainWithMore() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sluice-quota-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let location = StorageLocation.file("\(folder)/notes.sluicedb")
        func open(_ byteCountMax: Int?) throws -> SQLiteServerStorage {
            try .open(location, databaseID: ObjectID(high: 1, low: 1), byteCountMax: byteCountMax)
        }
        func write(_ storage: SQLiteServerStorage, _ ids: Range<Int64>) throws {
            let text = String(repeating: "x", count: 1_000)
            try storage.transaction {
                for id in ids {
                    _ = try storage.insertIfAbsent(
                        Row(key: .int(id), values: [.int(id), .string(text)]), ofClass: 0)
                }
            }
        }
        var storage = try open(1 << 20)
        _ = try storage.transaction { try storage.merge(Self.schema(), sides: ("the server", "the test")) }
        try write(storage, 0..<100)
        let error = #expect(throws: StorageError.self) { try write(storage, 100..<3_000) }
        #expect(error?.code == .full && error?.message.contains("quota of 1048576 bytes") == true, "\(error as Any)")
        #expect(try storage.row(ObjectRef(0, .int(99))) != nil && storage.row(ObjectRef(0, .int(100))) == nil)
        storage.close()
        storage = try open(64 << 20)
        try write(storage, 100..<3_000)
        #expect(try storage.row(ObjectRef(0, .int(2_999))) != nil)
        storage.close()
    }
}
