import Foundation
import SluiceBackend
import SluiceModel
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceServer
@testable import SluiceStorage

/// Backups that are made and restored.
@Suite(.timeLimit(.minutes(10))) struct RestorationTests {
    private let world: BackedUpServer

    init() throws { world = try BackedUpServer() }

    private func backUp(_ names: [String]? = nil, _ file: String = "x.backup") throws -> String {
        let path = world.root + "/" + file
        _ = try BackupMaker(world.data, now: { [clock = world.clock] in clock.timestamp }).make(path, of: names)
        return path
    }

    @Test func `stores that were ahead of the backup come to its state, and keep what they have not sent`()
        async throws
    {
        var server = try world.start()
        let store = try await world.store()
        let other = try await world.store()
        try await store.write { try $0.upsert(Flight(id: "UA1", delay: 1)) }
        try await store.uploaded(timeout: waitMax)
        let observed = store.objects(Flight.self)
        _ = try await observed.synced(timeout: waitMax)
        let seen = other.objects(Flight.self)
        let backup = try backUp()
        try await store.write { try $0.upsert(Flight(id: "UA2", delay: 2)) }
        try await store.uploaded(timeout: waitMax)
        #expect(try await seen.synced(timeout: waitMax).count == 2)
        await server.stop()
        try await store.write { try $0.upsert(Flight(id: "UA3", delay: 3)) }
        try FileManager.default.removeItem(atPath: world.data)
        try Restoration(backup, to: world.data).run()
        server = try world.start()
        try await store.uploaded(timeout: waitMax)
        let flights = try await server.database("nyc", models: models).objects(Flight.self).fetch()
        #expect(Set(flights.map(\.id)) == ["UA1", "UA3"])
        for store in [store, other] {
            try await wait(for: "the restored state") {
                try await Set(store.objects(Flight.self).synced(timeout: waitMax).map(\.id)) == ["UA1", "UA3"]
            }
            await store.close()
        }
        await server.stop()
    }

    @Test func `a restored folder has markers and users, and verify finds the backup whole`() async throws {
        let server = try world.start()
        for name in ["a", "b"] { try await server.database(name, models: models).putFlight("UA1", delay: 1) }
        let users = try UserFile(world.data + "/server.users")
        _ = try users.write(about: "ada") { try $0.add(UserRecord(name: "ada", password: "x", createdAt: 1)) }
        users.close()
        let backup = try backUp()
        await server.stop()
        var findings: [String] = []
        try BackupVerification(backup).run(in: nil) { finding in
            switch finding {
            case .database(let state, let check, _): findings.append("\(state.name) \(check.objectCount)")
            case .users(let count): findings.append("users \(count)")
            }
        }
        #expect(findings == ["a 1", "b 1", "users 1"])
        #expect(!FileManager.default.fileExists(atPath: backup + ".verify"))
        let folder = world.root + "/restored"
        try Restoration(backup, to: folder).run()
        #expect(
            world.names(folder) == [
                "a.sluicedb", "a.sluicedb-marker", "b.sluicedb", "b.sluicedb-marker", "server.users",
            ])
        let restored = try UserFile(folder + "/server.users")
        #expect(try restored.read { try $0.user("ada")?.password } == "x")
        restored.close()
        let part = world.root + "/part"
        try Restoration(backup, to: part, of: ["b"]).run()
        #expect(!world.names(part).contains("a.sluicedb"))
        #expect(try await world.flights(in: part, "b") == ["UA1": 1])
    }

    @Test func `a backup is verified by several at a time, and what a killed one has left is removed`() async throws {
        let server = try world.start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        let backup = try backUp()
        await server.stop()
        for place in [nil, world.root] {
            let folder = place.map { $0 + "/sluice-verify" } ?? backup + ".verify"
            for name in [folder + "-1", folder + "-7"] {
                try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: false)
                for file in ["work.lock", "copy"] { try Data([1]).write(to: URL(filePath: "\(name)/\(file)")) }
            }
            var depth = 0
            func verify(_ count: Int) throws {
                try BackupVerification(backup).run(in: place) { _ in
                    depth += 1
                    // While this one is at work.
                    #expect(throws: Never.self) { if count > 1 { try verify(count - 1) } }
                }
            }
            try verify(3)
            #expect(depth == 3)
            #expect(world.names(world.root) == ["data", "x.backup"])
        }
    }

    @Test func `who gives up leaves nothing`() async throws {
        let server = try world.start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        let backup = try backUp()
        await server.stop()
        // Asked for the nth time, they give up.
        for limit in 0..<2 {
            var count = 0
            func isCancelled() -> Bool {
                count += 1
                return count > limit
            }
            let making = #expect(throws: StorageError.self) {
                try BackupMaker(world.data, now: { Timestamp(microseconds: 0) })
                    .make(world.root + "/new.backup", isCancelled: isCancelled)
            }
            #expect(making?.code == .cancelled)
        }
        let restoring = #expect(throws: StorageError.self) {
            try Restoration(backup, to: world.root + "/new").run(isCancelled: { true })
        }
        #expect(restoring?.code == .cancelled)
        let verifying = #expect(throws: StorageError.self) {
            try BackupVerification(backup).run(in: nil, isCancelled: { true }) { _ in }
        }
        #expect(verifying?.code == .cancelled)
        #expect(world.names(world.root) == ["data", "x.backup"])
    }

    @Test func `a folder that has something is left as it is, and a failure leaves nothing`() async throws {
        let server = try world.start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        let backup = try backUp()
        await server.stop()
        let before = world.names(world.data)
        let taken = #expect(throws: ServerError.self) { try Restoration(backup, to: world.data) }
        #expect(taken?.message.contains("was left as it is") == true)
        #expect(world.names(world.data) == before)
        #expect(throws: ServerError.self) { try Restoration(backup, to: backup) }
        let unknown = #expect(throws: ServerError.self) {
            try Restoration(backup, to: world.root + "/new", of: ["other"]).run()
        }
        #expect(unknown?.message.contains("it has nyc") == true)
        let noArchive = #expect(throws: ServerError.self) {
            try Restoration(backup, to: world.root + "/new").run(archive: world.root)
        }
        #expect(noArchive?.message.contains("is no archive") == true)
        var bytes = try Data(contentsOf: URL(filePath: backup))
        bytes[3_000] ^= 1
        try bytes.write(to: URL(filePath: backup))
        let altered = #expect(throws: StorageError.self) { try Restoration(backup, to: world.root + "/new").run() }
        #expect(altered?.message.contains("was altered") == true)
        #expect(world.names(world.root) == ["data", "x.backup"])
        // An empty folder is as good as none.
        bytes[3_000] ^= 1
        try bytes.write(to: URL(filePath: backup))
        try FileManager.default.createDirectory(atPath: world.root + "/empty", withIntermediateDirectories: false)
        try Restoration(backup, to: world.root + "/empty/").run()
        #expect(try await world.flights(in: world.root + "/empty") == ["UA1": 1])
    }

    @Test func `what a killed process has left is removed, and what is another's is not`() async throws {
        let server = try world.start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        let backup = try backUp()
        await server.stop()
        let left = world.root + "/new.restoring"
        try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: false)
        try Data([1]).write(to: URL(filePath: left + "/mine"))
        let foreign = #expect(throws: StorageError.self) { try Restoration(backup, to: world.root + "/new").run() }
        #expect(foreign?.message.contains("files of others") == true)
        #expect(world.names(left) == ["mine"])
        try Data([1]).write(to: URL(filePath: left + "/work.lock"))
        do {
            let lock = try FileLock(at: left + "/work.lock")
            let busy = #expect(throws: StorageError.self) { try Restoration(backup, to: world.root + "/new").run() }
            #expect(busy?.code == .locked)
            withExtendedLifetime(lock) {}
        }
        try Restoration(backup, to: world.root + "/new").run()
        #expect(world.names(world.root) == ["data", "new", "x.backup"])
    }

    @Test func `a folder of a cluster, one that lacks files and one that is damaged are refused`() async throws {
        let server = try world.start()
        for name in ["a", "b"] { try await server.database(name, models: models).putFlight("UA1", delay: 1) }
        await server.stop()
        #expect(throws: ServerError.self) { try BackupMaker(world.root + "/none") { Timestamp(microseconds: 0) } }
        let unknown = #expect(throws: ServerError.self) { try backUp(["elsewhere"]) }
        #expect(unknown?.message.contains("it has a, b") == true)
        try FileManager.default.moveItem(atPath: world.data + "/a.sluicedb", toPath: world.root + "/a")
        let missing = #expect(throws: ServerError.self) { try backUp() }
        #expect(missing?.message.contains("lacks the file of 'a'") == true)
        _ = try backUp(["b"])
        try FileManager.default.moveItem(atPath: world.root + "/a", toPath: world.data + "/a.sluicedb")
        try Data("title\nthe reason\n".utf8).write(to: URL(filePath: world.data + "/a.sluicedb-damage"))
        let damaged = #expect(throws: StorageError.self) { try backUp(nil, "y.backup") }
        #expect(damaged?.code == .damaged && damaged?.message.contains("the reason") == true)
        try ReplicaFolder.mark(
            world.data, ReplicaFolder.Mark(cluster: String(repeating: "0a", count: 16)))
        let cluster = #expect(throws: ServerError.self) { try backUp(nil, "z.backup") }
        #expect(cluster?.message.contains("pg_dump") == true)
        #expect(world.names(world.root) == ["data", "x.backup"])
    }

    @Test func `a backup onto a full disk leaves nothing, and says so`() async throws {
        guard let disk = SmallDisk(byteCount: 1 << 20) else { return }
        let server = try world.start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        disk.fill()
        let error = #expect(throws: StorageError.self) {
            try BackupMaker(world.data) { Timestamp(microseconds: 0) }.make(disk.path + "/x.backup")
        }
        #expect(error?.code == .full && error?.message.contains("space") == true, "\(error as Any)")
        #expect(world.names(disk.path) == ["filler"])
        let backup = try backUp()
        let restoring = #expect(throws: StorageError.self) { try Restoration(backup, to: disk.path + "/new").run() }
        #expect(restoring?.code == .full)
        #expect(world.names(disk.path) == ["filler"])
        await server.stop()
    }
}
