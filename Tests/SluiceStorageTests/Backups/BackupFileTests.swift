import Glibc
import SluiceModel
import TestSupport
import Testing

@testable import SluiceStorage

/// The file of a backup: what it has, and that nothing of it can be changed unnoticed.
@Suite(.ownThread) struct BackupFileTests {
    private let folder = Result { try TemporaryFolder() }
    private let time = Timestamp(microseconds: 1_795_000_000_123_000)

    /// A database with some cars, open.
    private func database(_ path: String, cars count: Int = 20) throws -> SQLiteServerStorage {
        let storage = try Garage.server(.file(path))
        for number in 0..<count {
            try storage.write {
                try storage.record(
                    sequence: UInt64(number + 1), [.create(Garage.car("\(number)", price: Int64(number)), ofClass: 0)])
            }
        }
        return storage
    }

    /// Makes a backup of a database that is open, and users.
    private func backup(_ folder: TemporaryFolder, _ path: String) throws -> BackupManifest {
        let storage = try database(folder.file("a.sluicedb"))
        defer { storage.close() }
        let users = try UserFile(folder.file("server.users"))
        defer { users.close() }
        _ = try users.write(about: "ada") { try $0.add(UserRecord(name: "ada", password: "x", createdAt: 1)) }
        let writer = try BackupWriter(path, server: "1.2.3", time: time)
        let copy = folder.file("copy")
        let state = try DatabaseCopy.make(of: "a", at: folder.file("a.sluicedb"), to: copy)
        #expect(state.head == storage.head && state.version == 20 && state.id == storage.databaseID)
        try writer.add(BackupMember(database: state), contentOf: copy)
        try DatabaseCopy.makeOfUsers(at: folder.file("server.users"), to: copy)
        try writer.add(.users, contentOf: copy)
        return try writer.finish()
    }

    private func unpackAll(_ bytes: some StoredBytes) throws {
        let reader = try BackupReader(bytes)
        for index in reader.manifest.members.indices { try reader.unpack(index) { _ in } }
    }

    @Test func `a backup has what was copied, for its owner alone, and standard tools read it`() throws {
        let folder = try folder.get()
        let path = folder.file("x.backup")
        let manifest = try backup(folder, path)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(access(path + ".part", F_OK) != 0)
        let reader = try BackupReader(StoredFile(path))
        #expect(reader.manifest == manifest && manifest.server == "1.2.3" && manifest.time == time)
        let state = try #require(manifest.members[0].database)
        let copy = folder.file("again.sluicedb")
        try reader.unpack(0, into: copy)
        let check = try DatabaseCheck(copy, is: state)
        #expect(check.objectCount == 20 && check.classCount == 2 && check.firstPosition == 1)
        try reader.unpack(1, into: folder.file("again.users"))
        #expect(try DatabaseCheck.userCount(folder.file("again.users")) == 1)
        #expect(
            try runBlocking("/bin/sh", ["-c", "cd '\(folder.path)' && tar -xf x.backup && sha256sum -c SHA256SUMS"])
                == 0)
        #expect(access(folder.file("databases/a.sluicedb.lz4"), F_OK) == 0)
    }

    @Test func `each byte that is changed, and each cut, is noticed`() throws {
        let folder = try folder.get()
        let path = folder.file("x.backup")
        _ = try backup(folder, path)
        let bytes = try folder.bytes(of: "x.backup")
        try unpackAll(StoredArray(bytes))
        var generator = SeededGenerator(seed: 7)
        // All bytes of headers, manifest and sums, and some of the members.
        let listing = 2 * 4_096
        let places =
            Array(0..<2_048) + (0..<300).map { _ in Int.random(in: bytes.indices, using: &generator) }
            + Array(stride(from: max(0, bytes.count - listing), to: bytes.count, by: 3))
        for place in places {
            var changed = bytes
            changed[place] ^= UInt8(1 << Int.random(in: 0..<8, using: &generator))
            let error = #expect(throws: StorageError.self, "byte \(place)") { try unpackAll(StoredArray(changed)) }
            #expect([.damaged, .notADatabase, .newerFormat].contains(error?.code), "byte \(place): \(error as Any)")
        }
        for place in Set(
            [0, 1, 511, 512, 1_023, 1_024] + (0..<200).map { _ in .random(in: bytes.indices, using: &generator) })
        {
            let error = #expect(throws: StorageError.self, "\(place) bytes") {
                try unpackAll(StoredArray(Array(bytes.prefix(place))))
            }
            #expect([.damaged, .notADatabase].contains(error?.code), "\(place) bytes: \(error as Any)")
        }
        #expect(throws: StorageError.self) { try unpackAll(StoredArray(bytes + [0])) }
        #expect(throws: StorageError.self) { try unpackAll(StoredArray(bytes + [UInt8](repeating: 0, count: 512))) }
    }

    @Test func `a torn file says so, and so does one of a later format, and one of something else`() throws {
        let folder = try folder.get()
        let path = folder.file("x.backup")
        _ = try backup(folder, path)
        let bytes = try folder.bytes(of: "x.backup")
        let torn = #expect(throws: StorageError.self) { try BackupReader(StoredArray(Array(bytes.dropLast(2_000)))) }
        #expect(torn?.message.contains("torn") == true)
        let line = Array("sluice backup, format 2\n".utf8)
        let later =
            TarHeader(name: "sluice-backup", byteCount: line.count, time: 0).bytes + line
            + [UInt8](repeating: 0, count: 1_024)
        let newer = #expect(throws: StorageError.self) { try BackupReader(StoredArray(later + later)) }
        #expect(newer?.code == .newerFormat && newer?.message.contains("Update this program") == true)
        for other in [[], [1], [UInt8](repeating: 0, count: 2_048), Array("hello".utf8)] as [[UInt8]] {
            let foreign = #expect(throws: StorageError.self) { try BackupReader(StoredArray(other)) }
            #expect(foreign?.code == .notADatabase)
        }
        let missing = #expect(throws: StorageError.self) { try StoredFile(folder.file("none")) }
        #expect(missing?.code == .notFound)
        #expect(throws: StorageError.self) { try StoredFile(folder.path) }
    }

    @Test func `a file that is there is left as it is, and what a killed process left is replaced`() throws {
        let folder = try folder.get()
        try folder.write([1, 2], to: "x.backup")
        let exists = #expect(throws: StorageError.self) {
            try BackupWriter(folder.file("x.backup"), server: "1", time: time)
        }
        #expect(exists?.code == .exists)
        #expect(try folder.bytes(of: "x.backup") == [1, 2])
        try folder.write([3, 4], to: "y.backup.part")
        do {
            let writer = try BackupWriter(folder.file("y.backup"), server: "1", time: time)
            let second = #expect(throws: StorageError.self) {
                try BackupWriter(folder.file("y.backup"), server: "1", time: time)
            }
            #expect(second?.code == .locked)
            try folder.write([5], to: "y.backup")
            let late = #expect(throws: StorageError.self) { try writer.finish() }
            #expect(late?.code == .exists)
        }
        #expect(try folder.bytes(of: "y.backup") == [5])
        #expect(try folder.names == ["x.backup", "y.backup"])
    }

    @Test func `a backup that is given up leaves nothing`() throws {
        let folder = try folder.get()
        do {
            let writer = try BackupWriter(folder.file("x.backup"), server: "1", time: time)
            try folder.write([UInt8](repeating: 7, count: 100), to: "content")
            let error = #expect(throws: StorageError.self) {
                try writer.add(.users, contentOf: folder.file("content"), isCancelled: { true })
            }
            #expect(error?.code == .cancelled)
        }
        #expect(try folder.names == ["content"])
    }

    // MARK: Headers

    @Test func `a header is read as it was written, also of a large member`() {
        for byteCount in [0, 1, 511, 512, 8_589_934_591, 8_589_934_592, 1 << 50] {
            let header = TarHeader(name: "databases/a.sluicedb.lz4", byteCount: byteCount, time: 1_795_000_000)
            #expect(TarHeader(header.bytes) == header, "\(byteCount)")
        }
    }

    // MARK: Copies

    @Test func `a database that is open, closed or was killed is copied, and nothing is left beside it`() throws {
        let folder = try folder.get()
        let path = folder.file("a.sluicedb")
        let storage = try database(path)
        #expect(try DatabaseCopy.make(of: "a", at: path, to: folder.file("copy")).version == 20)
        // As a killed process leaves it: the log has commits that the file has not.
        for suffix in ["", "-wal", "-marker"] {
            try folder.write(folder.bytes(of: "a.sluicedb" + suffix), to: "b.sluicedb" + suffix)
        }
        #expect(try DatabaseCopy.make(of: "b", at: folder.file("b.sluicedb"), to: folder.file("copy")).version == 20)
        storage.close()
        let names = try folder.names
        #expect(try DatabaseCopy.make(of: "a", at: path, to: folder.file("copy")).version == 20)
        #expect(try folder.names == names)
    }

    @Test func `a write during a copy waits for nothing, and is not in it`() throws {
        let folder = try folder.get()
        let (path, copy) = (folder.file("a.sluicedb"), folder.file("copy"))
        let storage = try Garage.server(.file(path))
        defer { storage.close() }
        let cars = (0..<20_000).map { JournalChange.create(Garage.car("\($0)", price: 1), ofClass: 0) }
        try storage.write { try storage.record(cars) }
        var written: UInt64 = 0
        let state = try DatabaseCopy.make(of: "a", at: path, to: copy) {
            // On the thread of the copy, so a write that waited for it would fail.
            do {
                try storage.write {
                    try storage.record(sequence: written + 2, [.create(Garage.car("x\(written)"), ofClass: 0)])
                }
                written += 1
            } catch { Issue.record(error) }
            return false
        }
        #expect(written > 0 && storage.version == written + 1)
        #expect(state.version == 1)
        #expect(try DatabaseCheck(copy, is: state).objectCount == 20_000)
        let cancelled = #expect(throws: StorageError.self) {
            try DatabaseCopy.make(of: "a", at: path, to: copy) { true }
        }
        #expect(cancelled?.code == .cancelled)
    }

    @Test func `a database without its log, or without its file, is not taken for one that lacks nothing`() throws {
        let folder = try folder.get()
        let storage = try database(folder.file("a.sluicedb"))
        for suffix in ["", "-marker"] {
            try folder.write(folder.bytes(of: "a.sluicedb" + suffix), to: "b.sluicedb" + suffix)
        }
        storage.close()
        let error = #expect(throws: StorageError.self) {
            try DatabaseCopy.make(of: "b", at: folder.file("b.sluicedb"), to: folder.file("copy"))
        }
        #expect(error?.isLasting == true, "\(error as Any)")
        let missing = #expect(throws: StorageError.self) {
            try DatabaseCopy.make(of: "c", at: folder.file("c.sluicedb"), to: folder.file("copy"))
        }
        #expect(missing?.code == .vanished)
    }

    @Test func `a copy that was changed does not pass the check`() throws {
        let folder = try folder.get()
        let storage = try database(folder.file("a.sluicedb"))
        let copy = folder.file("copy.sluicedb")
        let state = try DatabaseCopy.make(of: "a", at: folder.file("a.sluicedb"), to: copy)
        storage.close()
        var other = state
        other.version += 1
        #expect(throws: StorageError.self) { try DatabaseCheck(copy, is: other) }
        _ = try DatabaseCheck(copy, is: state)
        let connection = try SQLiteConnection(path: copy, access: .write)
        try connection.execute("UPDATE _journal SET record = zeroblob(length(record)) WHERE position = 3")
        connection.close()
        let error = #expect(throws: StorageError.self) { try DatabaseCheck(copy, is: state) }
        #expect(error?.code == .damaged)
    }
}
