import Glibc
import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport
import Testing

/// Files that can be read, on a disk that cannot be written.
struct UnwritableDiskTests {
    /// What prevents writing, and how the last process left the files.
    struct Situation: Sendable, CustomTestStringConvertible {
        var isFull: Bool
        var isKilled: Bool

        var testDescription: String { "\(isFull ? "full" : "read-only"), \(isKilled ? "killed" : "closed")" }
        var code: StorageError.Code { isFull ? .full : .readOnly }

        func begin(_ disk: SmallDisk) {
            if isFull { disk.fill() } else { #expect(disk.remount(isReadOnly: true)) }
        }

        func end(_ disk: SmallDisk) {
            if isFull { disk.clear() } else { #expect(disk.remount(isReadOnly: false)) }
        }
    }

    static let situations = [(true, true), (true, false), (false, true), (false, false)]
        .map { Situation(isFull: $0.0, isKilled: $0.1) }

    private func names(_ disk: SmallDisk) -> [String] {
        guard let folder = opendir(disk.path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names.sorted()
    }

    private func copy(_ path: String, to target: String) {
        let from = open(path, O_RDONLY)
        let to = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var bytes = [UInt8](repeating: 0, count: 1 << 22)
        let count = read(from, &bytes, bytes.count)
        _ = write(to, bytes, count)
        close(from)
        close(to)
    }

    /// Writes one car, and leaves the files as a process that was closed or killed does.
    private func leave(_ storage: SQLiteWritableStore, _ file: String, isKilled: Bool) throws {
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        guard isKilled else { return storage.close() }
        let suffixes = ["", "-wal", "-shm", "-marker"]
        for suffix in suffixes { copy(file + suffix, to: file + suffix + "-kept") }
        storage.close()
        for suffix in suffixes { rename(file + suffix + "-kept", file + suffix) }
    }

    @Test(.onSmallDisk, arguments: situations)
    func aDatabaseOnADiskThatCannotBeWrittenIsReadAndWrittenOnceItCan(situation: Situation) throws {
        let disk = try #require(SmallDisk())
        let file = disk.path + "/db"
        try leave(Garage.server(.file(file)), file, isKilled: situation.isKilled)
        let reopen = { try SQLiteServerStorage.open(.file(file), databaseID: ObjectID(high: 1, low: 2)) }
        situation.begin(disk)
        let before = names(disk)
        do {
            let storage = try reopen()
            #expect(storage.obstacle?.code == situation.code)
            #expect(storage.obstacle?.message.contains(file) == true)
            #expect(try storage.isPresent(Garage.carRef("A")))
            let snapshot = try #require(try storage.snapshot())
            #expect(try snapshot.row(Garage.carRef("A")) != nil)
            snapshot.close()
            let error = #expect(throws: StorageError.self) { try storage.transaction {} }
            #expect(error?.code == situation.code)
            #expect(throws: StorageError.self) { try reopen() }
            #expect(storage.probe()?.code == situation.code)
            storage.close()
        }
        #expect(names(disk) == before)
        situation.end(disk)
        let again = try reopen()
        #expect(again.obstacle == nil)
        #expect(try again.isPresent(Garage.carRef("A")))
        try again.write { try again.insert(Garage.car("B"), ofClass: Garage.car) }
        again.close()
    }

    @Test(.onSmallDisk, arguments: situations)
    func aStoreOnADiskThatCannotBeWrittenIsReadAndWrittenOnceItCan(situation: Situation) throws {
        let disk = try #require(SmallDisk())
        let file = disk.path + "/store"
        try leave(Garage.client(.file(file)), file, isKilled: situation.isKilled)
        situation.begin(disk)
        let before = names(disk)
        do {
            let storage = try SQLiteClientStorage.open(.file(file))
            #expect(storage.obstacle?.code == situation.code)
            #expect(try storage.read { try $0.count(ofClass: Garage.car) } == 1)
            let error = #expect(throws: StorageError.self) { try storage.transaction {} }
            #expect(error?.code == situation.code)
            storage.close()
        }
        #expect(names(disk) == before)
        situation.end(disk)
        let again = try SQLiteClientStorage.open(.file(file))
        try again.write { try again.insert(Garage.car("B"), ofClass: Garage.car) }
        #expect(try again.read { try $0.count(ofClass: Garage.car) } == 2)
        again.close()
    }

    @Test(.onSmallDisk) func aDiskThatFillsUpFailsTheCommitAndTakesTheNextOnceThereIsRoom() throws {
        let disk = try #require(SmallDisk())
        let storage = try Garage.server(.file(disk.path + "/db"))
        disk.fill()
        let error = #expect(throws: StorageError.self) {
            for number in 0..<100_000 {
                try storage.write { try storage.insert(Garage.car("A\(number)"), ofClass: Garage.car) }
            }
        }
        #expect(error?.code == .full)
        let count = try storage.count(ofClass: Garage.car)
        disk.clear()
        try storage.write { try storage.insert(Garage.car("B"), ofClass: Garage.car) }
        #expect(try storage.count(ofClass: Garage.car) == count + 1)
        storage.close()
    }
}
