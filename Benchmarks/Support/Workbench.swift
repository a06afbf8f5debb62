import Foundation
import Sluice
import SluiceServer

/// The options, files, servers and stores of a run.
struct Workbench {
    let options: Options
    /// The servers of other kinds that rows are compared with; none unless the options ask for them.
    let peers: [any Peer]
    private let folder: URL

    init(_ options: Options) throws {
        self.options = options
        // Beside the build, since the system's temporary folder may be in memory.
        let parent = URL(filePath: ".build", directoryHint: .isDirectory)
        folder = parent.appending(path: "benchmark-\(UUID().uuidString)")
        peers = options.hasPeers ? try Peers.all(besides: parent.path(percentEncoded: false)) : []
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func removeFolder() { try? FileManager.default.removeItem(at: folder) }

    func say(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }

    /// A path in the folder of the run that has not been used.
    func freshPath(_ name: String) -> String {
        folder.appending(path: "\(name)-\(UUID().uuidString)").path(percentEncoded: false)
    }

    /// Starts a server with durable, empty databases and calls `body` with the URL of one of them.
    func withServer<Result>(
        folder: String? = nil, archive: String? = nil, _ body: (_ url: String) async throws -> Result
    ) async throws -> Result {
        var configuration = ServerConfiguration(dataFolder: folder ?? freshPath("server"), port: 0, isDevelopment: true)
        configuration.archive = archive
        // All connections come from this machine.
        configuration.quotas.connectionCountMaxPerAddress = nil
        configuration.quotas.sessionCountMaxPerUser = nil
        let server = try SyncServer(configuration)
        let port = try server.start()
        do {
            let result = try await body("ws://127.0.0.1:\(port)/bench")
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }

    /// Opens a new store.
    ///
    /// - Parameter url: the database to sync with; nil for none.
    func openStore(
        _ name: String, models: [any Model.Type], path: String? = nil, url: String? = nil,
        durability: StoreConfiguration.Durability = .process
    ) async throws -> Store {
        var configuration = StoreConfiguration(
            path: path ?? freshPath(name), models: models, sync: url.map { SyncConfiguration(url: $0) })
        configuration.durability = durability
        return try await Store.open(configuration)
    }

    /// How long `body` takes, in seconds.
    func seconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    /// Runs `body` as many times as the options say.
    func repeated<Result>(_ body: (_ run: Int) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for run in 1...options.runCount { results.append(try await body(run)) }
        return results
    }
}
