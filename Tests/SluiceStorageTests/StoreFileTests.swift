import CSQLite
import Glibc
import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

struct StoreFileTests {
    /// A file that the store must not change, and the error that must be reported.
    struct Refusal: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var code: StorageError.Code
        var make: @Sendable (String) throws -> Void
    }

    private static func execute(_ path: String, _ statements: String) {
        var handle: OpaquePointer?
        sqlite3_open(path, &handle)
        sqlite3_exec(handle, statements, nil, nil, nil)
        sqlite3_close(handle)
    }

    static let refusals = [
        Refusal(testDescription: "text", code: .notADatabase) { path in
            try write(
                Array(
                    "Dear diary, this is no database at all, and it is longer than a hundred bytes, so there. Bye.".utf8
                ), path)
        },
        Refusal(testDescription: "a few bytes", code: .notADatabase) { try write([1, 2, 3], $0) },
        Refusal(testDescription: "another program's database", code: .foreignFile) { path in
            execute(path, "PRAGMA application_id = 77; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        },
        Refusal(testDescription: "a database of nobody's", code: .foreignFile) { path in
            execute(path, "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        },
        Refusal(testDescription: "a client's store", code: .foreignFile) { path in
            _ = try Garage.client(.file(path))
        },
        Refusal(testDescription: "a newer format", code: .newerFormat) { path in
            _ = try Garage.server(.file(path))
            execute(path, "PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)")
        },
        Refusal(testDescription: "cut off", code: .damaged) { path in
            _ = try Garage.server(.file(path))
            truncate(path, 12_288)
        },
        Refusal(testDescription: "overwritten", code: .damaged) { path in
            _ = try Garage.server(.file(path))
            let file = fopen(path, "r+")
            fseek(file, 100, SEEK_SET)
            let noise = [UInt8](repeating: 0xEE, count: 3_900)
            fwrite(noise, 1, noise.count, file)
            fclose(file)
        },
    ]

    private static func write(_ bytes: [UInt8], _ path: String) throws {
        let file = fopen(path, "w")
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    @Test(arguments: refusals)
    func fileThatIsNotOursIsRefusedAndStaysAsItIs(refusal: Refusal) throws {
        let folder = try TemporaryFolder()
        try refusal.make(folder.file("db"))
        let before = try folder.bytes(of: "db")
        let error = #expect(throws: StorageError.self) {
            try SQLiteServerStorage.open(.file(folder.file("db")), databaseID: ObjectID(high: 1, low: 1))
        }
        #expect(error?.code == refusal.code)
        #expect(error?.message.contains(folder.file("db")) == true)
        #expect(try folder.bytes(of: "db") == before)
        #expect(try folder.names.filter { !$0.hasSuffix("-lock") && !$0.hasSuffix("-marker") } == ["db"])
    }

    @Test func `a client's store of a newer format is refused with both numbers and stays as it is`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        try Garage.client(.file(path)).close()
        Self.execute(path, "PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)")
        let before = try folder.bytes(of: "store")
        let error = #expect(throws: StorageError.self) { try SQLiteClientStorage.open(.file(path)) }
        #expect(error?.code == .newerFormat)
        #expect(error?.message.contains("has format 2, and this version reads up to 1") == true)
        #expect(try folder.bytes(of: "store") == before)
    }

    @Test func secondHandleIsLockedOutUntilTheFirstIsGone() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        do {
            let first = try Garage.client(location)
            let error = #expect(throws: StorageError.self) { try SQLiteClientStorage.open(location) }
            #expect(error?.code == .locked)
            #expect(try first.count(ofClass: Garage.car) == 0)
        }
        _ = try SQLiteClientStorage.open(location)
    }

    @Test func closedStoreLetsGoOfItsFileAndRefusesWhatFollows() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        let first = try Garage.client(location)
        try first.write { try first.insert(Garage.car("A"), ofClass: Garage.car) }
        #expect(try first.read { try $0.count(ofClass: Garage.car) } == 1)
        #expect(throws: StorageError.self) {
            try first.transaction {
                try first.insert(Garage.car("B"), ofClass: Garage.car)
                first.close()
                first.close()
            }
        }
        let second = try SQLiteClientStorage.open(location)
        #expect(try second.rows(ofClass: Garage.car) == [.string("A"): Garage.car("A")])
        #expect(!first.isInTransaction)
        #expect(throws: StorageError.self) { try first.transaction {} }
        #expect(throws: StorageError.self) { try first.row(Garage.carRef("A")) }
        #expect(throws: StorageError.self) { try first.metadata("x") }
        let error = #expect(throws: StorageError.self) { try first.read { try $0.count(ofClass: Garage.car) } }
        #expect(error?.code == .misuse)
        #expect(error?.message.contains("closed") == true)
    }

    @Test func missingFolderIsNamed() throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: StorageError.self) {
            try SQLiteClientStorage.open(.file(folder.file("no/such/store")))
        }
        #expect(error?.code == .io)
        #expect(error?.message.contains("folder exists") == true)
    }

    @Test func emptyFileBecomesAStore() throws {
        let folder = try TemporaryFolder()
        try folder.write([], to: "store")
        let storage = try Garage.client(.file(folder.file("store")))
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
    }

    @Test func filesAreTheirOwnersAlone() throws {
        let folder = try TemporaryFolder()
        let client = try Garage.client(.file(folder.file("client")))
        try client.write { try client.insert(Garage.car("A"), ofClass: Garage.car) }
        let server = try Garage.server(.file(folder.file("server")))
        try server.write { try server.insert(Garage.car("A"), ofClass: Garage.car) }
        try server.copy(toFile: folder.file("copy"))
        let names = try folder.names
        #expect(Set(names).isSuperset(of: ["client", "client-wal", "client-lock", "copy", "server", "server-wal"]))
        for name in names {
            var status = stat()
            try #require(stat(folder.file(name), &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(name) has the mode \(String(status.st_mode & 0o777, radix: 8))")
        }
    }

    @Test func copyIsADatabaseOfItsOwn() throws {
        let folder = try TemporaryFolder()
        let storage = try Garage.server()
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        try storage.copy(toFile: folder.file("copy"))
        let copy = try SQLiteServerStorage.open(.file(folder.file("copy")), databaseID: ObjectID(high: 8, low: 8))
        #expect(copy.databaseID == storage.databaseID)
        #expect(try copy.rows(ofClass: Garage.car) == storage.rows(ofClass: Garage.car))
        let error = #expect(throws: StorageError.self) { try storage.copy(toFile: folder.file("copy")) }
        #expect(error?.code == .locked)
    }

    @Test func copyThatCannotBeOpenedLeavesNothingAndIsTriedAgain() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy")
        let storage = try Garage.server()
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        func open() throws -> SQLiteServerStorage {
            try SQLiteServerStorage.open(.file(path), databaseID: ObjectID(high: 8, low: 8))
        }
        // The descriptors may run out while the copy is opened, before or after its files are made.
        for opensFirst in [false, true] {
            let error = #expect(throws: StorageError.self) {
                try storage.copy(toFile: path) { () throws -> Void in
                    if opensFirst { try open().close() }
                    throw StorageError(.tooManyFiles, "no descriptors")
                }
            }
            #expect(error?.code == .tooManyFiles)
            #expect(try folder.names == ["copy-lock"])
        }
        let copy = try storage.copy(toFile: path, andOpen: open)
        #expect(try copy.rows(ofClass: Garage.car) == storage.rows(ofClass: Garage.car))
    }
}
