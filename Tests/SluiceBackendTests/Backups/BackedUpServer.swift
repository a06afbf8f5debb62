import Foundation
import SluiceBackend
import SluiceModel
import SluiceTesting
import Synchronization
import TestSupport
import Testing

@testable import SluiceServer
@testable import SluiceStorage

/// A server in memory over a folder, with a clock that the test moves, and folders for backups and an archive.
final class BackedUpServer: Sendable {
    let root: String
    let clock = ManualClock()
    let network = LoopbackNetwork()
    private let lines = Mutex<[LogLine]>([])

    var data: String { root + "/data" }
    var backups: String { root + "/backups" }
    var archive: String { root + "/archive" }

    init() throws {
        root = NSTemporaryDirectory() + "sluice-backups-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    /// What was logged, as level and message.
    var log: [String] { lines.withLock { $0.map { "\($0.level.rawValue): \($0.message)" } } }

    var errors: [LogLine] { lines.withLock { $0.filter { $0.level == .error } } }

    func configuration(data: String? = nil) -> ServerConfiguration {
        var configuration = ServerConfiguration(dataFolder: data ?? self.data, host: "server", isDevelopment: true)
        configuration.loopback = network
        configuration.now = { [clock] in clock.timestamp }
        configuration.schedule = { [clock] delay, body in clock.schedule(after: delay, isUpkeep: true, body) }
        configuration.log = LogSink(level: .info) { [self] line in lines.withLock { $0.append(line) } }
        return configuration
    }

    func start(_ change: (inout ServerConfiguration) -> Void = { _ in }) throws -> SyncServer {
        var configuration = configuration()
        change(&configuration)
        let server = try SyncServer(configuration)
        try server.start()
        return server
    }

    /// Moves the clock, and lets the server do what was due.
    func advance(_ duration: Duration, _ server: SyncServer) async {
        clock.advance(by: duration)
        _ = await server.isQuiet()
    }

    func store() async throws -> Store {
        var sync = SyncConfiguration(url: "ws://server/nyc")
        sync.loopback = network
        sync.reconnectDelay = .milliseconds(1)
        sync.reconnectDelayMax = .milliseconds(20)
        return try await Store.open(StoreConfiguration(models: models, sync: sync))
    }

    func names(_ folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    /// The flights of a restored folder, by their delays.
    func flights(in folder: String, _ database: String = "nyc") async throws -> [String: Int] {
        var configuration = ServerConfiguration(dataFolder: folder, port: 0, isDevelopment: true)
        configuration.now = { [clock] in clock.timestamp }
        let server = try SyncServer(configuration)
        let found = try await server.database(database, models: models).objects(Flight.self).fetch()
        await server.stop()
        return Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0.delay) })
    }
}
