#if PostgreSQL

import Foundation
import Glibc
import TestSupport
import Testing

@testable import SluicePostgres

/// A node of a cluster as a process of the built program, which keeps its name, its folder and its port over restarts.
final class NodeProcess {
    let name: String
    /// The folder of its replicas.
    let folder: String
    /// What is between the node and PostgreSQL.
    let proxy: Proxy
    private let journal: String
    /// Options of the server; nil for one that is for development.
    private let options: [String]?
    let port: UInt16
    /// More options of the process.
    var moreOptions: [String] = []
    /// What the process has in its environment.
    var environment: [String: String] = [:]
    private(set) var process: ChildProcess?
    /// How often it was started.
    private(set) var startCount = 0

    /// Names a node, which does not run yet.
    ///
    /// - Parameter options: what its server is told beside its journal; nil for one that is for development.
    init(_ name: String, in folder: String, of database: TestDatabase, options: [String]? = nil) throws {
        self.options = options
        self.name = name
        self.folder = folder + "/" + name
        proxy = try Proxy(to: database.port)
        // PostgreSQL then says which connections are the node's.
        journal = database.url(port: proxy.port) + "?application_name=\(name)"
        port = try UnusedPort.next()
    }

    deinit {
        process?.signal(SIGKILL)
        proxy.stop()
    }

    /// Where clients connect, for a proxy of their own.
    var clientPort: UInt16 { port }

    func url(_ database: String = NodeCluster.databaseName) -> String { "ws://127.0.0.1:\(port)/\(database)" }

    /// Has the node say where clients reach it.
    func tellURL() { moreOptions = ["--node-url=ws://127.0.0.1:\(port)"] }

    /// What the node answers to who asks whether it is ready.
    func readiness() async throws -> HTTPAnswer { try await HTTPAnswer.get("/health/ready", port: port) }

    /// Starts the process, and returns once it listens.
    func start() async throws {
        startCount += 1
        process = try await ServerProcess.start(
            folder: folder, port: port,
            options: ["--journal=\(journal)", "--node=\(name)"] + (options ?? []) + moreOptions,
            isDevelopment: options == nil, environment: environment
        ).process
    }

    /// Ends the process as a crash would.
    func kill() async throws {
        process?.signal(SIGKILL)
        _ = try await process?.finish()
    }

    /// Kills the process if it runs, and starts another.
    func restart() async throws {
        try await kill()
        try await start()
    }

    /// Has the process end in order.
    func stop() async throws {
        process?.signal(SIGTERM)
        let exit = try await process?.finish()
        #expect(exit?.code == 0, "\(name): \(exit?.diagnostics ?? "")")
    }

    func signal(_ number: Int32) { process?.signal(number) }

    /// What its log says of sessions that it has ended since it was started, and not their clients.
    var endedSessions: [Substring] {
        (process?.diagnostics ?? "").split(separator: "\n").filter {
            $0.contains("a session ended") && !$0.contains("another session") && !$0.contains("its client closed it")
        }
    }

    /// Whether its log says that it cannot append to a database.
    var isSilenced: Bool { process?.diagnostics.contains("the journal of a database does not answer") == true }

    /// Waits for the next line of its log with all of some words.
    func logged(_ words: String...) async throws {
        let said = try #require(process)
        try await wait(for: "a line of \(name) with \(words)") {
            said.diagnostics.split(separator: "\n").contains { line in words.allSatisfy { line.contains($0) } }
        }
    }

    /// The file of a replica.
    func replica(_ database: String = NodeCluster.databaseName) -> String { "\(folder)/\(database).sluicedb" }
}

#endif
