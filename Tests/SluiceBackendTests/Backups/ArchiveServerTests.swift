import Foundation
import SluiceBackend
import SluiceModel
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceServer
@testable import SluiceStorage

/// A server that archives its journals: any state can be restored, and commits wait for nothing.
@Suite(.timeLimit(.minutes(10))) struct ArchiveServerTests {
    private let world: BackedUpServer

    init() throws { world = try BackedUpServer() }

    private func start() throws -> SyncServer { try world.start { $0.archive = world.archive } }

    private func metric(_ name: String, _ server: SyncServer) async throws -> Double? {
        let line = await server.metricsText().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ")[1]) }
    }

    private func backUp(_ name: String = "x.backup") throws -> String {
        let path = world.root + "/" + name
        _ = try BackupMaker(world.data, now: { [clock = world.clock] in clock.timestamp }).make(path)
        return path
    }

    private func restored(_ backup: String, _ target: ArchiveTarget) async throws -> [String: Int] {
        let folder = world.root + "/restored-\(UUID().uuidString)"
        try Restoration(backup, to: folder).run(archive: world.archive, to: target)
        return try await world.flights(in: folder)
    }

    @Test func `each time since a backup is restored, also of a database that came after it`() async throws {
        let server = try start()
        let database = try await server.database("nyc", models: models)
        try await database.putFlight("UA1", delay: 0)
        let backup = try backUp()
        var times: [Timestamp] = []
        for delay in 1...5 {
            await world.advance(.seconds(10), server)
            try await database.putFlight("UA1", delay: delay)
            times.append(world.clock.timestamp)
        }
        try await server.database("late", models: models).putFlight("LH1", delay: 9)
        await world.advance(.seconds(1), server)
        await world.advance(.seconds(1), server)
        #expect(try await metric("sluice_server_archive_lag_positions", server) == 0)
        #expect(try await metric("sluice_server_archived_groups_total", server) ?? 0 > 6)
        for (index, time) in times.enumerated() {
            #expect(try await restored(backup, .time(time)) == ["UA1": index + 1])
            let before = Timestamp(microseconds: time.microseconds - 1)
            #expect(try await restored(backup, .time(before)) == ["UA1": index])
        }
        let folder = world.root + "/all"
        try Restoration(backup, to: folder).run(archive: world.archive)
        #expect(try await world.flights(in: folder, "late") == ["LH1": 9])
        let early = await #expect(throws: ServerError.self) {
            try await restored(backup, .time(Timestamp(microseconds: 0)))
        }
        #expect(early?.message.contains("Later there was late, nyc") == true, "\(String(describing: early))")
        let future = Timestamp(microseconds: world.clock.timestamp.microseconds + 60_000_000)
        let error = await #expect(throws: StorageError.self) { try await restored(backup, .time(future)) }
        #expect(error?.message.contains("complete up to") == true)
        await server.stop()
    }

    @Test func `a database is archived from its beginning, with the sessions before its first write`() async throws {
        let server = try start()
        let store = try await world.store()
        try await store.connected(timeout: waitMax)
        try await store.write { try $0.upsert(Flight(id: "UA1", delay: 1)) }
        try await store.uploaded(timeout: waitMax)
        await store.close()
        // The log is looked at for what is old.
        await server.closeIdleDatabases()
        await world.advance(.seconds(1), server)
        #expect(!world.log.contains("warning: the archive of a database needs a new backup"))
        await server.stop()
        let way = try ArchivePath(
            of: "nyc", in: world.archive + "/nyc", from: nil, to: .end, completeUntil: nil)
        guard case .beginning = try #require(way).start else { throw Failure("it does not begin at the beginning") }
    }

    @Test func `what was stored just before the end is archived at the end, or after a kill at the next start`()
        async throws
    {
        var server = try start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        let backup = try backUp()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 2)
        await server.stop()
        #expect(try await restored(backup, .end) == ["UA1": 2])
        server = try start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 3)
        await server.stop(isKilled: true)
        #expect(try await restored(backup, .end) == ["UA1": 2])
        // Without the archive for a while: the log has it.
        server = try world.start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 4)
        await server.stop()
        server = try start()
        await world.advance(.seconds(1), server)
        #expect(try await restored(backup, .end) == ["UA1": 4])
        await server.stop()
        #expect(!world.log.contains { $0.hasPrefix("error") })
    }

    @Test func `a full disk of the archive delays no commit, and nothing is missing afterwards`() async throws {
        guard let disk = SmallDisk(byteCount: 1 << 20) else { return }
        let server = try world.start { $0.archive = disk.path + "/a" }
        let database = try await server.database("nyc", models: models)
        try await database.putFlight("UA1", delay: 0)
        let backup = try backUp()
        await world.advance(.seconds(1), server)
        disk.fill()
        for delay in 1...100 { try await database.putFlight("UA\(delay)", delay: delay) }
        await world.advance(.seconds(1), server)
        await world.advance(.seconds(30), server)
        #expect(world.errors.map(\.message) == ["the archive lacks what was stored"])
        #expect(try await metric("sluice_server_archive_lag_positions", server) ?? 0 > 0)
        #expect(try await metric("sluice_server_archive_lag_seconds", server) ?? 0 >= 30)
        #expect(try await metric("sluice_server_archive_failures_total", server) ?? 0 >= 2)
        try await database.putFlight("UA101", delay: 101)
        disk.clear()
        await world.advance(.seconds(1), server)
        #expect(world.log.contains("info: the archive has everything again"))
        #expect(try await metric("sluice_server_archive_lag_positions", server) == 0)
        let folder = world.root + "/all"
        try Restoration(backup, to: folder).run(archive: disk.path + "/a")
        #expect(try await world.flights(in: folder).count == 101)
        await server.stop()
    }

    @Test func `a server that was restored goes on with the archive, and makes a backup where it must`()
        async throws
    {
        var server = try start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        let backup = try backUp()
        await world.advance(.seconds(10), server)
        try await server.database("nyc", models: models).putFlight("UA1", delay: 2)
        let lost = world.clock.timestamp
        await world.advance(.seconds(1), server)
        await server.stop()
        try FileManager.default.removeItem(atPath: world.data)
        try Restoration(backup, to: world.data).run()
        world.clock.advance(by: .seconds(60))
        server = try world.start {
            $0.archive = world.archive
            $0.backups = ScheduledBackups(folder: world.backups)
        }
        await world.advance(.zero, server)
        try await server.database("nyc", models: models).putFlight("UA1", delay: 3)
        await world.advance(.seconds(1), server)
        await server.stop()
        // The state before the restoration and the one after it.
        #expect(try await restored(backup, .time(lost)) == ["UA1": 2])
        #expect(try await restored(backup, .end) == ["UA1": 3])
        #expect(world.names(world.backups).count == 2)
    }

    @Test func `a gap in the archive has the server make a backup, or ask for one`() async throws {
        var server = try start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        await world.advance(.seconds(1), server)
        await server.stop()
        // Another database of the name, of whose beginning nothing is known.
        for name in world.names(world.data) where name.hasPrefix("nyc") {
            try FileManager.default.removeItem(atPath: world.data + "/" + name)
        }
        server = try world.start()
        let database = try await server.database("nyc", models: models)
        for delay in 1...4 { try await database.putFlight("UA1", delay: delay) }
        await server.stop()
        let storage = try SQLiteServerStorage.open(
            .file(world.data + "/nyc.sluicedb"), databaseID: ObjectID(high: 0, low: 0))
        try storage.trimLog(keepingVersions: 1, keepingBytes: .max, acceptedSince: nil, entriesMax: 1_000)
        storage.close()
        server = try start()
        await world.advance(.seconds(1), server)
        #expect(world.log.contains("warning: the archive of a database needs a new backup"))
        await server.stop()
        try FileManager.default.removeItem(atPath: world.archive)
        server = try world.start {
            $0.archive = world.archive
            $0.backups = ScheduledBackups(folder: world.backups)
        }
        await world.advance(.zero, server)
        await world.advance(.zero, server)
        await server.stop()
        let backup = try #require(world.names(world.backups).last { $0.hasSuffix(".backup") })
        #expect(try await restored(world.backups + "/" + backup, .end) == ["UA1": 4])
    }

    @Test func `segments that no kept backup needs are removed`() async throws {
        let server = try world.start {
            $0.archive = world.archive
            $0.backups = ScheduledBackups(folder: world.backups, interval: .seconds(60), keptCount: 1)
        }
        let database = try await server.database("nyc", models: models)
        try await database.putFlight("UA1", delay: 1)
        await world.advance(.seconds(1), server)
        // A second segment, as after a damage.
        let first = world.archive + "/nyc/0000000001.segment"
        await server.stop()
        var bytes = try Data(contentsOf: URL(filePath: first))
        bytes[40] ^= 1
        try bytes.write(to: URL(filePath: first))
        let again = try world.start {
            $0.archive = world.archive
            $0.backups = ScheduledBackups(folder: world.backups, interval: .seconds(60), keptCount: 1)
        }
        await world.advance(.seconds(1), again)
        try await again.database("nyc", models: models).putFlight("UA1", delay: 2)
        await world.advance(.seconds(60), again)
        await world.advance(.seconds(1), again)
        #expect(world.names(world.archive + "/nyc") == ["0000000002.segment", "last"])
        await again.stop()
        let backup = try #require(world.names(world.backups).last { $0.hasSuffix(".backup") })
        #expect(try await restored(world.backups + "/" + backup, .end) == ["UA1": 2])
    }
}
