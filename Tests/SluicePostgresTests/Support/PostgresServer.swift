#if PostgreSQL

import Foundation
import Glibc
import SluiceModel
import Synchronization
import TestSupport

@testable import SluicePostgres

/// A PostgreSQL of the test run's own, in a temporary folder, on a free port of 127.0.0.1. It ends with the process.
final class PostgresServer: @unchecked Sendable {
    /// The server of all tests that do not stop it.
    static let shared = Task { try await PostgresServer() }

    let port: UInt16
    private let folder: String
    private var program: ChildProcess?
    private let databaseCount = Atomic(0)

    private static let binaries: String = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let newest = versions.compactMap { Int($0) }.max().map(String.init) ?? "15"
        return ProcessInfo.processInfo.environment["SLUICE_POSTGRES_BIN"] ?? "\(root)/\(newest)/bin"
    }()

    /// Makes and starts a server.
    init() async throws {
        // Another user has to reach it.
        folder = "/tmp/sluice-postgres-" + UUID().uuidString
        port = try UnusedPort.next()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if getuid() == 0 { try await Self.run("chown postgres \(folder)") }
        try await Self.run(
            "\(Self.binaries)/initdb --no-sync -A trust -U sluice -E UTF8 --locale=C -D \(folder)/data > /dev/null",
            as: Self.asServer)
        let settings = """
            listen_addresses = '127.0.0.1'
            port = \(port)
            unix_socket_directories = '\(folder)'
            max_connections = 200
            shared_buffers = 32MB
            fsync = off
            """
        let access = """
            local all all trust
            host all with_password 127.0.0.1/32 scram-sha-256
            host all all 127.0.0.1/32 trust
            host replication all 127.0.0.1/32 trust
            """
        try await Self.run(
            "printf '%s\\n' \"\(settings)\" >> \(folder)/data/postgresql.conf; "
                + "printf '%s\\n' \"\(access)\" > \(folder)/data/pg_hba.conf", as: Self.asServer)
        try await start()
    }

    /// Makes and starts a standby, which has what its primary has.
    ///
    /// - Parameters:
    ///   - primary: a server that runs.
    ///   - port: where the standby reaches it.
    init(standbyOf primary: PostgresServer, at primaryPort: UInt16) async throws {
        folder = "/tmp/sluice-postgres-" + UUID().uuidString
        port = try UnusedPort.next()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if getuid() == 0 { try await Self.run("chown postgres \(folder)") }
        let settings = "port = \(port)\nunix_socket_directories = '\(folder)'\nwal_receiver_timeout = 0\n"
        try await Self.run(
            "\(Self.binaries)/pg_basebackup -h 127.0.0.1 -p \(primaryPort) -U sluice -D \(folder)/data -R -X stream "
                + "-c fast --no-sync && printf \"\(settings)\" >> \(folder)/data/postgresql.conf", as: Self.asServer)
        try await start()
    }

    /// Has commits wait for the standby from now on.
    func waitForStandby() async throws {
        let all = TestDatabase(server: self, name: "postgres", port: port)
        try all.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try all.run("SELECT pg_reload_conf()")
        try await wait(for: "the standby to be synchronous") {
            try all.number("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1
        }
    }

    /// Makes a standby the primary.
    func promote() async throws {
        try await Self.run(
            "printf \"synchronous_standby_names = ''\\n\" >> \(folder)/data/postgresql.auto.conf", as: Self.asServer)
        _ = try await read("SELECT pg_reload_conf(), pg_promote(true, 60)")
        try await wait(for: "the standby to be the primary") { try await read("SELECT pg_is_in_recovery()") == "f" }
    }

    /// What a query gives, also where nothing can be written.
    ///
    /// - Parameter name: the database.
    func read(_ sql: String, in name: String = "postgres") async throws -> String {
        let exit = try await ChildProcess(
            "\(Self.binaries)/psql", ["-h", "127.0.0.1", "-p", "\(port)", "-U", "sluice", "-d", name, "-tAc", sql]
        ).finish()
        guard exit.code == 0 else { throw Failure("\(sql): \(exit.diagnostics)") }
        return exit.lines.joined(separator: "\n")
    }

    /// The same database on another server.
    func sameDatabase(as database: TestDatabase) -> TestDatabase {
        TestDatabase(server: self, name: database.name, port: port)
    }

    /// What runs the rest of a command as a user who may run PostgreSQL, which root may not.
    static let asServer =
        getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []

    static func start(_ script: String, input: String? = "", as user: [String] = []) throws -> ChildProcess {
        let command = user + ["/bin/sh", "-c", script]
        return try ChildProcess(command[0], Array(command.dropFirst()), input: input)
    }

    static func run(_ script: String, as user: [String] = []) async throws {
        let exit = try await start(script, as: user).finish()
        guard exit.code == 0 else { throw Failure("\(script): \(exit.diagnostics)") }
    }

    // MARK: Life

    private static let isReady = "ready to accept "
    /// The processes of the server before have not all ended, or somebody else has the port for a moment.
    private static let obstacles = ["pre-existing shared memory", "lock file", "could not create any TCP/IP sockets"]

    /// Starts the server, and waits until it can be used.
    func start() async throws {
        while true {
            // When the tests end, or do not want it any more, the input ends, and so does the server.
            let script = """
                # A terminal that closes ends this no earlier.
                trap '' HUP
                \(Self.binaries)/postgres -D \(folder)/data & server=$!
                words=$(cat)
                kill -QUIT $server 2> /dev/null
                wait $server
                [ "$words" = again ] || rm -r "\(folder)"
                """
            let started = try Self.start(script, input: nil, as: Self.asServer)
            program = started
            try await wait(for: "PostgreSQL to start") {
                (Self.obstacles + [Self.isReady]).contains { started.diagnostics.contains($0) }
            }
            if started.diagnostics.contains(Self.isReady) { return }
            try await end(started)
        }
    }

    /// Kills the server as a crash of its machine would: all its processes, none of which notices that another has ended.
    /// If the first of them ended alone, commits that wait for a standby would give up waiting, and who still reads would
    /// see what the standby lacks.
    func kill() async throws {
        let text = try String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8)
        if let process = text.split(separator: "\n").first.flatMap({ pid_t($0) }) {
            Glibc.kill(process, SIGSTOP)
            try await wait(for: "PostgreSQL to stand still") { Self.status(of: process)?.state == "T" }
            for child in try Self.children(of: process) { Glibc.kill(child, SIGKILL) }
            Glibc.kill(process, SIGKILL)
        }
        if let program { try await end(program) }
    }

    /// The state of a process and its parent, as /proc says; nil if it is gone.
    private static func status(of process: pid_t) -> (state: Substring, parent: pid_t?)? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let words = text[end...].split(separator: " ").dropFirst()
        guard let state = words.first else { return nil }
        return (state, words.dropFirst().first.flatMap { pid_t($0) })
    }

    private static func children(of process: pid_t) throws -> [pid_t] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
            .filter { status(of: $0)?.parent == process }
    }

    /// Ends the server, and removes its folder.
    func stop() async throws {
        program?.closeInput()
        _ = try await program?.finish()
    }

    /// Removes the folder of a server that was killed for good.
    func discard() async throws { try await Self.run("rm -r \"\(folder)\"") }

    private func end(_ program: ChildProcess) async throws {
        program.write("again")
        program.closeInput()
        _ = try await program.finish()
    }

    // MARK: Dumps

    /// Dumps a database.
    func dump(_ database: TestDatabase, to path: String) async throws {
        try await Self.run("\(Self.binaries)/pg_dump -h 127.0.0.1 -p \(port) -U sluice -Fc -f \(path) \(database.name)")
    }

    /// Puts a dump in the place of a database, at once for those who use it.
    func restore(_ database: TestDatabase, from path: String) async throws {
        let all = TestDatabase(server: self, name: "postgres", port: port)
        try all.run("DROP DATABASE \(database.name) WITH (FORCE)")
        try all.run("CREATE DATABASE \(database.name)")
        try await Self.run(
            "\(Self.binaries)/pg_restore --single-transaction -h 127.0.0.1 -p \(port) -U sluice -d \(database.name) "
                + path)
    }

    // MARK: Databases

    /// Makes an empty database.
    ///
    /// - Parameter options: what follows its name in `CREATE DATABASE`.
    func emptyDatabase(_ options: String = "") throws -> TestDatabase {
        let name = "test\(databaseCount.add(1, ordering: .relaxed).newValue)"
        let all = TestDatabase(server: self, name: "postgres", port: port)
        try all.run("CREATE DATABASE \(name) \(options)")
        return TestDatabase(server: self, name: name, port: port)
    }

    /// Makes a database with the tables of a cluster.
    func database() throws -> TestDatabase {
        let database = try emptyDatabase()
        try PostgresCluster.initialize(database.url)
        return database
    }
}

extension PostgresJournals {
    /// - Parameter change: changes how long it waits.
    convenience init(url: String, node: String, _ change: (inout PostgresTimeouts) -> Void) throws {
        var timeouts = PostgresTimeouts()
        change(&timeouts)
        try self.init(url: url, node: node, timeouts: timeouts)
    }
}

/// A database of a server, with a test's own cluster.
struct TestDatabase: Sendable {
    let server: PostgresServer
    let name: String
    let port: UInt16

    var url: String { url() }

    /// - Parameters:
    ///   - user: a role, with `:password` if it needs one.
    ///   - port: that of a proxy; nil for the server's.
    func url(user: String = "sluice", port: UInt16? = nil) -> String {
        "postgres://\(user)@127.0.0.1:\(port ?? self.port)/\(name)"
    }

    /// Connects as a test does.
    func connect() throws -> PostgresConnection {
        try PostgresConnection(to: PostgresAddress(url), timeouts: PostgresTimeouts(), stop: StopSignal())
    }

    @discardableResult
    func run(_ sql: String) throws -> PostgresResult { try connect().execute(script: sql) }

    /// Ends all other connections of the database, and waits until they have ended.
    func killBackends() throws {
        try run(
            """
            SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """)
    }

    /// The number in the first row of a query.
    func number(_ sql: String) throws -> Int64 {
        try connect().execute(PostgresStatement(nil, "SELECT (\(sql))::int8")).integer(0)
    }

    /// Waits until so many nodes listen.
    func waitForListeners(_ count: Int64) async throws {
        // What a connection has said last: the question behind LISTEN, or the first of its journals.
        let listening = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle'
              AND (query LIKE '%max(id), 0) FROM sluice.message' OR query LIKE '%unnest($1) AS id')
            """
        try await wait(for: "\(count) listeners") { try number(listening) >= count }
    }

    /// A node on this database.
    func node(
        _ name: String = "node", port: UInt16? = nil, listenURL: String? = nil, log: LogSink? = nil,
        remembering history: PostgresHistory? = nil, _ change: (inout PostgresTimeouts) -> Void = { _ in }
    ) throws -> PostgresJournals {
        var timeouts = PostgresTimeouts()
        change(&timeouts)
        return try PostgresJournals(
            url: url(port: port), listenURL: listenURL, node: name, log: log, timeouts: timeouts, remembering: history)
    }
}

#endif
