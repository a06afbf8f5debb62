import CSQLite
import Glibc
import SluiceModel
import SluiceStorage
import Testing

/// Files that are removed, renamed, replaced or emptied, while a store has them open and while none does.
struct VanishedFileTests {
    /// What happens to the files of an open store.
    struct Loss: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var happen: @Sendable (_ folder: String, _ file: String) -> Void
    }

    static let losses = [
        Loss(testDescription: "the file is removed") { unlink($1) },
        Loss(testDescription: "the file is renamed") { rename($1, $1 + "-elsewhere") },
        Loss(testDescription: "the file is replaced by a copy") { _, file in
            rename(file, file + "-elsewhere")
            copy(file + "-elsewhere", to: file)
        },
        Loss(testDescription: "the write-ahead log is removed") { unlink($1 + "-wal") },
        Loss(testDescription: "the lock is removed") { unlink($1 + "-lock") },
        Loss(testDescription: "the folder is renamed") { folder, _ in rename(folder, folder + "-elsewhere") },
        Loss(testDescription: "the folder is replaced by an empty one") { folder, _ in
            rename(folder, folder + "-elsewhere")
            mkdir(folder, 0o700)
        },
    ]

    private static func copy(_ path: String, to target: String) {
        let from = open(path, O_RDONLY)
        let to = open(target, O_WRONLY | O_CREAT, 0o600)
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(from, &bytes, bytes.count)
        _ = write(to, bytes, count)
        close(from)
        close(to)
    }

    /// A folder whose content a test may move to a folder of the same name with the ending `-elsewhere`.
    private func withFolder(_ body: (String) throws -> Void) throws {
        let outer = try TemporaryFolder()
        let folder = outer.file("data")
        mkdir(folder, 0o700)
        try body(folder)
    }

    // MARK: While a store is open

    @Test(arguments: losses)
    func aWriteToADatabaseThatVanishedIsNotConfirmedNorAnyAfterIt(loss: Loss) throws {
        try withFolder { folder in
            let storage = try Garage.server(.file(folder + "/db"))
            try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
            #expect(storage.failure == nil)
            loss.happen(folder, folder + "/db")
            for vin in ["B", "C"] {
                let error = #expect(throws: StorageError.self) {
                    try storage.write { try storage.insert(Garage.car(vin), ofClass: Garage.car) }
                }
                #expect(error?.code == .vanished)
                #expect(error?.message.contains(folder) == true)
            }
            #expect(storage.failure?.code == .vanished)
            storage.close()
        }
    }

    @Test(arguments: losses)
    func aWriteToAStoreThatVanishedIsNotConfirmedNorAnyAfterIt(loss: Loss) throws {
        try withFolder { folder in
            let storage = try Garage.client(.file(folder + "/store"))
            try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
            loss.happen(folder, folder + "/store")
            for vin in ["B", "C"] {
                let error = #expect(throws: StorageError.self) {
                    try storage.write { try storage.insert(Garage.car(vin), ofClass: Garage.car) }
                }
                #expect(error?.code == .vanished)
            }
            storage.close()
        }
    }

    @Test func anIdleStoreWhoseFileVanishedIsNoticedByLooking() throws {
        let folder = try TemporaryFolder()
        let storage = try Garage.server(.file(folder.file("db")))
        try storage.checkFile()
        unlink(folder.file("db"))
        #expect(throws: StorageError.self) { try storage.checkFile() }
        #expect(storage.failure?.code == .vanished)
    }

    @Test func whatALostWriteAheadLogHeldIsInTheFileOnceItIsClosed() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("db"))
        let storage = try Garage.server(location)
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        unlink(folder.file("db-wal"))
        #expect(throws: StorageError.self) { try storage.checkFile() }
        storage.close()
        let again = try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 1, low: 2))
        #expect(try again.isPresent(Garage.carRef("A")))
    }

    @Test(arguments: [false, true])
    func aFolderThatReplacedAStoresKeepsItsFilesWhenTheStoreIsClosed(isStore: Bool) throws {
        try withFolder { folder in
            let storage: SQLiteWritableStore =
                isStore ? try Garage.client(.file(folder + "/db")) : try Garage.server(.file(folder + "/db"))
            try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
            rename(folder, folder + "-elsewhere")
            mkdir(folder, 0o700)
            for name in ["db", "db-wal", "db-shm"] { Self.copy(folder + "-elsewhere/" + name, to: folder + "/" + name) }
            storage.close()
            for name in ["db", "db-wal", "db-shm"] { #expect(access(folder + "/" + name, F_OK) == 0, "\(name)") }
        }
    }

    // MARK: While none is open

    /// The files that remain of a database with version 1, whose process closed it or was killed, when it is opened
    /// again.
    struct Remains: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var isKilled = false
        /// The code of the error; nil if the database opens.
        var code: StorageError.Code?
        var happen: @Sendable (_ file: String) -> Void
    }

    static let remains = [
        Remains(testDescription: "all, closed", code: nil) { _ in },
        Remains(testDescription: "all, killed", isKilled: true, code: nil) { _ in },
        Remains(testDescription: "no file, closed", code: .vanished) { unlink($0) },
        Remains(testDescription: "no file, killed", isKilled: true, code: .vanished) { unlink($0) },
        Remains(testDescription: "no file and no marker, killed", isKilled: true, code: .vanished) { file in
            unlink(file)
            unlink(file + "-marker")
        },
        Remains(testDescription: "an empty file", code: .vanished) { truncate($0, 0) },
        Remains(testDescription: "an empty file, killed", isKilled: true, code: .vanished) { truncate($0, 0) },
        Remains(testDescription: "no file, and a marker that cannot be read", code: .vanished) { file in
            unlink(file)
            truncate(file + "-marker", 3)
        },
        Remains(testDescription: "no write-ahead log, killed", isKilled: true, code: .vanished) { unlink($0 + "-wal") },
        Remains(testDescription: "an empty write-ahead log, killed", isKilled: true, code: .vanished) {
            truncate($0 + "-wal", 0)
        },
        Remains(testDescription: "half a write-ahead log, killed", isKilled: true, code: .vanished) { file in
            var status = stat()
            stat(file + "-wal", &status)
            truncate(file + "-wal", status.st_size / 2)
        },
        Remains(testDescription: "a file that begins as none of ours", code: .damaged) { file in
            let descriptor = open(file, O_WRONLY)
            _ = pwrite(descriptor, "nonsense", 8, 0)
            close(descriptor)
        },
        Remains(testDescription: "a pipe", code: .notADatabase) { file in
            unlink(file)
            mkfifo(file, 0o600)
        },
        Remains(testDescription: "a folder", code: .notADatabase) { file in
            unlink(file)
            mkdir(file, 0o700)
        },
        Remains(testDescription: "a device", code: .notADatabase) { file in
            unlink(file)
            symlink("/dev/null", file)
        },
        Remains(testDescription: "a symbolic link that leads nowhere", code: .vanished) { file in
            unlink(file)
            symlink(file + "-nowhere", file)
        },
        Remains(testDescription: "a pipe for a write-ahead log", code: .notADatabase) { mkfifo($0 + "-wal", 0o600) },
        Remains(testDescription: "a symbolic link to the file", code: nil) { file in
            rename(file, file + "-elsewhere")
            symlink(file + "-elsewhere", file)
        },
    ]

    /// Makes a database with one version, and leaves its files as a process does that closes it or is killed.
    private func make(_ location: StorageLocation, in folder: TemporaryFolder, isKilled: Bool) throws {
        let storage = try Garage.server(location)
        try storage.checkpoint(truncating: true)
        try storage.write {
            try storage.record([.create(Garage.car("A"), ofClass: Garage.car)])
        }
        guard isKilled else { return storage.close() }
        let files = try ["db", "db-wal", "db-marker"].map { ($0, try folder.bytes(of: $0)) }
        storage.close()
        for (name, bytes) in files { try folder.write(bytes, to: name) }
    }

    @Test(arguments: remains)
    func whatIsLeftOfADatabaseIsOpenedWholeOrRefusedWithAReason(remains: Remains) throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("db"))
        try make(location, in: folder, isKilled: remains.isKilled)
        remains.happen(folder.file("db"))
        #expect(SQLiteServerStorage.isTaken(folder.file("db")))
        func reopen() throws -> SQLiteServerStorage {
            try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 1, low: 2))
        }
        guard let code = remains.code else {
            #expect(try reopen().isPresent(Garage.carRef("A")))
            return
        }
        for _ in 0..<2 {
            let error = #expect(throws: StorageError.self) { try reopen() }
            #expect(error?.code == code, "\(String(describing: error))")
            #expect(error?.message.contains(folder.file("db")) == true)
        }
    }

    @Test func aDatabaseThatIsRemovedWithItsMarkerStartsAfresh() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("db"))
        try make(location, in: folder, isKilled: true)
        let error = #expect(throws: StorageError.self) {
            unlink(folder.file("db"))
            _ = try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 3, low: 3))
        }
        for name in ["db-wal", "db-marker"] {
            #expect(error?.message.contains(name == "db-wal" ? "-wal" : name) == true, "the error names what to remove")
            unlink(folder.file(name))
        }
        let fresh = try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 3, low: 3))
        #expect(fresh.databaseID == ObjectID(high: 3, low: 3))
        #expect(fresh.version == 0)
    }

    @Test func aBackupThatIsPutBackIsOpenedAndNotedAndAnotherDatabaseIsRefused() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("db"))
        do {
            let storage = try Garage.server(location)
            try storage.copy(toFile: folder.file("backup"))
            storage.close()
        }
        let other = try SQLiteServerStorage.open(.file(folder.file("other")), databaseID: ObjectID(high: 9, low: 9))
        other.close()
        try folder.write(folder.bytes(of: "backup"), to: "first")
        unlink(folder.file("db"))
        unlink(folder.file("db-marker"))
        try make(location, in: folder, isKilled: false)
        try folder.write(folder.bytes(of: "first"), to: "db")
        do {
            let restored = try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 1, low: 2))
            #expect(restored.openingNotice?.contains("backup") == true)
            #expect(restored.version == 0)
            restored.close()
        }
        let again = try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 1, low: 2))
        #expect(again.openingNotice == nil)
        again.close()
        try folder.write(folder.bytes(of: "other"), to: "db")
        let error = #expect(throws: StorageError.self) {
            try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 1, low: 2))
        }
        #expect(error?.code == .vanished)
        #expect(error?.message.contains("another database") == true)
    }

    @Test func aDatabaseFromBeforeMarkersIsOpenedAndHasOneFromThenOn() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("db"))
        try make(location, in: folder, isKilled: false)
        unlink(folder.file("db-marker"))
        try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 1, low: 2)).close()
        unlink(folder.file("db"))
        let error = #expect(throws: StorageError.self) {
            try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 1, low: 2))
        }
        #expect(error?.code == .vanished)
    }

    @Test func aStoresMissingWriteAheadLogIsNoticedAlsoWhereNothingIsQueued() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        let storage = try Garage.client(location)
        try storage.checkpoint(truncating: true)
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        let files = try ["store", "store-marker"].map { ($0, try folder.bytes(of: $0)) }
        storage.close()
        for (name, bytes) in files { try folder.write(bytes, to: name) }
        let error = #expect(throws: StorageError.self) { try SQLiteClientStorage.open(location) }
        #expect(error?.code == .vanished)
        #expect(error?.message.contains("store-wal is missing") == true)
        // A power cut may lose what was not synced.
        let text = String(decoding: try folder.bytes(of: "store-marker"), as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("boot ") })
        let other = "boot 00000000-0000-0000-0000-000000000000"
        try #require(line.utf8.count == other.utf8.count)
        try folder.write(Array(text.replacing(line, with: other).utf8), to: "store-marker")
        #expect(try SQLiteClientStorage.open(location).read { try $0.count(ofClass: Garage.car) } == 0)
    }

    @Test func copyIsRefusedWhereADatabaseWas() throws {
        let folder = try TemporaryFolder()
        try make(.file(folder.file("db")), in: folder, isKilled: false)
        unlink(folder.file("db"))
        let error = #expect(throws: StorageError.self) { try Garage.server().copy(toFile: folder.file("db")) }
        #expect(error?.code == .vanished)
    }
}
