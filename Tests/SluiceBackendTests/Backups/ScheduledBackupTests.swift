import Foundation
import SluiceBackend
import SluiceModel
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceServer
@testable import SluiceStorage

/// Backups that a server makes by itself.
@Suite(.timeLimit(.minutes(10))) struct ScheduledBackupTests {
    private let world: BackedUpServer

    init() throws { world = try BackedUpServer() }

    private func start(keeping count: Int = 2, _ interval: Duration = .seconds(3_600)) throws -> SyncServer {
        try world.start {
            $0.backups = ScheduledBackups(folder: world.backups, interval: interval, keptCount: count)
        }
    }

    private var made: [String] { world.names(world.backups).filter { $0.hasSuffix(".backup") } }

    private func metric(_ name: String, _ server: SyncServer) async throws -> Double? {
        let line = await server.metricsText().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ")[1]) }
    }

    @Test func `backups come at their times, and only the newest of its own are kept`() async throws {
        let server = try start()
        let database = try await server.database("nyc", models: models)
        #expect(try await metric("sluice_server_last_backup_timestamp_seconds", server) == 0)
        try await database.putFlight("UA1", delay: 1)
        await world.advance(.zero, server)
        #expect(made == ["sluice-20231114T221320Z.backup"])
        #expect(try await metric("sluice_server_last_backup_timestamp_seconds", server) == 1_700_000_000)
        try Data("mine".utf8).write(to: URL(filePath: world.backups + "/sluice-20200101T000000Z.backup"))
        try Data("mine".utf8).write(to: URL(filePath: world.backups + "/notes.backup"))
        for hour in 1...3 {
            try await database.putFlight("UA1", delay: 1 + hour)
            await world.advance(.seconds(3_599), server)
            let count = made.count
            await world.advance(.seconds(1), server)
            #expect(made.count == count + (hour < 2 ? 1 : 0))
        }
        #expect(
            made == [
                "notes.backup", "sluice-20200101T000000Z.backup", "sluice-20231115T001320Z.backup",
                "sluice-20231115T011320Z.backup",
            ])
        #expect(try await metric("sluice_server_backups_total{outcome=\"made\"}", server) == 4)
        #expect(world.log.contains("warning: a backup cannot be read, and is not counted"))
        #expect(world.log.filter { $0 == "info: old backups were removed" }.count == 2)
        await server.stop()
        let restored = world.root + "/restored"
        try Restoration(world.backups + "/" + made[2], to: restored).run()
        #expect(try await world.flights(in: restored) == ["UA1": 3])
    }

    @Test func `a server that starts again makes the next backup when it is due, and removes unfinished ones`()
        async throws
    {
        var server = try start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        await world.advance(.zero, server)
        await server.stop()
        for name in [
            "sluice-20231114T230000Z.backup.part", "sluice-20231114T230000Z.backup.part-copy",
            "sluice-20231114T220000Z.backup.part-copy-journal", "other.part",
        ] {
            try Data([1]).write(to: URL(filePath: world.backups + "/" + name))
        }
        world.clock.advance(by: .seconds(1_800))
        server = try start()
        await world.advance(.seconds(1_799), server)
        #expect(made.count == 1)
        #expect(world.names(world.backups) == ["backups.owner", "other.part", made[0]])
        await world.advance(.seconds(1), server)
        #expect(made.count == 2)
        await server.stop()
    }

    @Test func `a data folder that is gone, or another, takes the place of no older backup`() async throws {
        let server = try start()
        try await server.database("nyc", models: models).putFlight("UA1", delay: 1)
        await world.advance(.zero, server)
        await world.advance(.seconds(3_600), server)
        let before = made
        #expect(before.count == 2)
        try FileManager.default.moveItem(atPath: world.data, toPath: world.data + ".away")
        await world.advance(.seconds(3_600), server)
        // As where a disk is not mounted.
        try FileManager.default.createDirectory(atPath: world.data, withIntermediateDirectories: false)
        await world.advance(.seconds(3_600), server)
        #expect(made == before)
        let told = world.errors.filter { $0.message == "a backup could not be made" }
        #expect(told.count == 2 && told.allSatisfy { "\($0)".contains("was removed or replaced") })
        try FileManager.default.removeItem(atPath: world.data)
        try FileManager.default.moveItem(atPath: world.data + ".away", toPath: world.data)
        await world.advance(.seconds(3_600), server)
        #expect(made.count == 2 && made.last != before.last)
        await server.stop()
    }

    @Test func `two servers do not share a folder, and one of another server is not taken over`() async throws {
        let server = try start()
        var other = world.configuration(data: world.root + "/other")
        other.backups = ScheduledBackups(folder: world.backups)
        let running = #expect(throws: ServerError.self) { try SyncServer(other) }
        #expect(running?.code == .backups && running?.message.contains("server that runs") == true)
        #expect(running?.message.contains(world.data) == true)
        await server.stop()
        let owned = #expect(throws: ServerError.self) { try SyncServer(other) }
        #expect(owned?.message.contains("belongs to the server with the data folder") == true)
        try FileManager.default.removeItem(atPath: world.backups + "/backups.owner")
        let second = try SyncServer(other)
        await second.stop()
    }

    @Test func `a full disk leaves no part, is told, and the next backup comes when there is room`() async throws {
        guard let disk = SmallDisk(byteCount: 4 << 20) else { return }
        let server = try world.start {
            $0.backups = ScheduledBackups(folder: disk.path + "/b", interval: .seconds(3_600), keptCount: 3)
        }
        let database = try await server.database("nyc", models: models)
        try await database.putFlight("UA1", delay: 1)
        await world.advance(.zero, server)
        disk.fill()
        await world.advance(.seconds(3_600), server)
        #expect(world.names(disk.path + "/b") == ["backups.owner", "sluice-20231114T221320Z.backup"])
        #expect(world.errors.map(\.message) == ["a backup could not be made"])
        #expect("\(world.errors)".contains("free some space"))
        #expect(try await metric("sluice_server_backups_total{outcome=\"failed\"}", server) == 1)
        // The databases are on another disk.
        try await database.putFlight("UA2", delay: 2)
        disk.clear()
        await world.advance(.seconds(3_600), server)
        #expect(world.names(disk.path + "/b").count == 3)
        await server.stop()
    }

    @Test func `a folder that was removed while the server runs is not made anew`() async throws {
        let server = try start()
        await world.advance(.zero, server)
        try FileManager.default.removeItem(atPath: world.backups)
        await world.advance(.seconds(3_600), server)
        #expect(world.errors.map(\.message) == ["a backup could not be made"])
        #expect(!FileManager.default.fileExists(atPath: world.backups))
        await server.stop()
    }

    @Test func `what cannot be is refused with the reason`() throws {
        func refusal(_ change: (inout ServerConfiguration) -> Void) -> String {
            var configuration = world.configuration()
            change(&configuration)
            do {
                _ = try SyncServer(configuration)
                return "nothing"
            } catch { return "\(error)" }
        }
        let plan = ScheduledBackups(folder: world.backups)
        #expect(
            refusal {
                $0.dataFolder = nil
                $0.backups = plan
            }.contains("in memory"))
        #expect(refusal { $0.backups = ScheduledBackups(folder: world.data) }.contains("is that of the data"))
        #expect(refusal { $0.backups = ScheduledBackups(folder: "/proc/none") }.contains("cannot be made"))
        #expect(refusal { $0.archive = "/dev/null" }.contains("cannot be used"))
        #expect(refusal { $0.backups = ScheduledBackups(folder: world.backups, interval: .zero) }.contains("interval"))
        #expect(refusal { $0.backups = ScheduledBackups(folder: world.backups, keptCount: 0) }.contains("at least one"))
        let journals = try MemoryJournals()
        #expect(
            refusal {
                $0.journals = journals
                $0.archive = world.archive
            }.contains("PostgreSQL"))
    }
}
