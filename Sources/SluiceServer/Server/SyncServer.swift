internal import Dispatch
internal import SluiceAccess
internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage
internal import SluiceTransport
internal import Synchronization

/// A sync server, which serves databases to the stores that connect to it.
public final class SyncServer: Sendable {
    private enum Listening {
        case no
        case sockets(ServerListeners)
        case loopback(LoopbackNetwork)
        case stopped
    }

    private let parts: ServerParts
    private let listening = Mutex(Listening.no)
    /// How many handles on databases this process has made.
    private let handleCount = Atomic<UInt64>(0)

    private var configuration: ServerConfiguration { parts.configuration }
    var databases: DatabaseDirectory { parts.databases }
    /// Which databases clients may open.
    var gate: DatabaseGate { parts.gate }
    /// What is told to whoever keeps the audit log; nil if nobody does.
    var audit: AuditTrail? { parts.audit }
    /// Gives duties to tasks of this process.
    package var duties: DutyDesk { parts.duties }
    /// The validators and resolvers.
    var policies: WritePolicies { parts.policies }

    /// Prepares a server; ``start()`` makes it listen.
    ///
    /// - Throws: ``ServerError`` when the configuration is invalid, when the data folder cannot be created or written,
    ///   or when another server uses the folder.
    public init(_ configuration: ServerConfiguration) throws {
        parts = try ServerParts(configuration)
        if let server = configuration.handsOverTo { try handOver(to: server) }
    }

    /// Prepares a server with rules; short for setting ``ServerConfiguration/rules``.
    ///
    /// - Parameters:
    ///   - rules: a rules file (JSON, see docs/permissions.md): what users may read and do.
    ///   - configuration: everything else.
    /// - Throws: ``ServerError`` as ``init(_:)``, and when the rules are not well formed.
    public convenience init(rules: String, _ configuration: ServerConfiguration) throws {
        var configuration = configuration
        configuration.rules = rules
        try self.init(configuration)
    }

    /// Begins to listen.
    ///
    /// - Returns: the port; 0 for a network in memory.
    /// - Throws: ``ServerError`` when the address is in use or does not belong to this machine, when a certificate file
    ///   cannot be used, or when the server was started before.
    @discardableResult
    public func start() throws -> UInt16 {
        try listening.withLock { listening in
            guard case .no = listening else {
                throw ServerError(.invalidConfiguration, "a server is started once; make another to listen again")
            }
            databases.startSweeping()
            databases.startWatchingFiles()
            parts.backups?.begin()
            parts.cutOff?.begin()
            gate.watch { [weak self] in self?.heedRestriction(of: nil) }
            if let directory = parts.directory {
                parts.logins.startWatching()
                // What other processes change, such as the claims of a user, holds for open sessions too.
                directory.watch { [logins = parts.logins] in logins.checkAll() }
            }
            do {
                if let network = configuration.loopback {
                    try network.listen(configuration.host, hooks: parts.door.hooks)
                    listening = .loopback(network)
                    parts.readiness.noteStart()
                    noteStart(at: "\(configuration.host) in memory", tls: false)
                    return 0
                }
                let listeners = try ServerListeners(
                    configuration, hooks: hooks,
                    metrics: { [exposition = parts.exposition] in await exposition.text() },
                    admin: configuration.administration.map(adminPages),
                    isFolderInPlace: { [databases = parts.databases] in databases.isFolderInPlace })
                listening = .sockets(listeners)
                parts.readiness.noteStart()
                let port = listeners.stores.port
                noteStart(at: "\(configuration.host) port \(port)", tls: configuration.certificate != nil)
                if let address = configuration.metricsListen, let port = listeners.metrics?.port {
                    let address = "\(address.host) port \(port)"
                    configuration.log?.about(.network)(.info, "listening for metrics", [("address", address)])
                }
                return port
            } catch let error as TransportError {
                throw ServerError(listening: error)
            }
        }
    }

    /// What the server does with connections, and with other requests.
    private var hooks: ServerHooks {
        var routes = WebRoutes()
        HealthPages(health: { [readiness = parts.readiness] in readiness.health }).add(to: &routes)
        DatabasePages(door: parts.door, origins: parts.origins, limits: parts.limits.server).add(to: &routes)
        StaticPages(
            origins: parts.origins,
            servesDashboard: configuration.isDevelopment || configuration.servesDashboard
        )
        .add(to: &routes)
        var hooks = parts.door.hooks
        hooks.route = { [routes] request in routes.route(request) }
        return hooks
    }

    private func adminPages(_ administration: Administration) -> AdminPages {
        let survey = SessionSurvey(connections: parts.connections, databases: databases, now: configuration.now)
        return AdminPages(
            administration: administration, sessions: { await survey.sessions() },
            endSession: { survey.end($0, by: $1) },
            top: { [databases = parts.databases] in await databases.top() },
            databases: { [databases = parts.databases] in databases.states },
            drain: { [weak self] in self?.drain() })
    }

    private func noteStart(at address: String, tls: Bool) {
        let log = configuration.log?.about(.network)
        log?(
            .info, "started",
            [
                ("version", SluiceRelease.version), ("data", configuration.dataFolder ?? "in memory"),
                ("logins", configuration.isDevelopment ? "development" : "users"),
                ("rules", configuration.rules == nil ? "of each database" : "of the configuration"),
                ("connections", "\(configuration.connectionCountMax)"),
                ("queueBytes", "\(configuration.queueByteCountMax)"),
            ] + configuration.quotas.details)
        log?(.info, "listening", [("address", address), ("tls", "\(tls)")])
    }

    /// Serves until the task is cancelled, and then stops in order, as ``stop()`` does: what libraries for the life of
    /// services ask for. Begins to listen, unless ``start()`` has.
    ///
    /// - Throws: ``ServerError`` as ``start()``.
    public func run() async throws {
        let isNew = listening.withLock { if case .no = $0 { true } else { false } }
        if isNew { try start() }
        // Nothing comes; it ends with the task.
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        for await _ in stream {}
        continuation.finish()
        await stop()
    }

    /// Ends every connection, finishes the transaction that is being stored, and closes the databases. A server cannot
    /// be started again.
    ///
    /// Uploads that wait to be stored are dropped, none acknowledged, so the clients upload them to the next server.
    public func stop() async { await stop(isKilled: false) }

    /// Stops the server.
    ///
    /// - Parameter isKilled: whether to leave unstored what waits to be stored, as a process that is killed between two
    ///   transactions.
    package func stop(isKilled: Bool) async {
        let was = listening.withLock { listening in
            defer { listening = .stopped }
            return listening
        }
        parts.cutOff?.stop()
        if !isKilled { await handOverToOthers(from: was) }
        parts.readiness.noteStop()
        switch was {
        case .no, .stopped: break
        case .loopback(let network):
            network.stopListening(configuration.host)
            // The connections are closed when this returns, as those of sockets are.
            await network.flush()
        case .sockets(let listeners): await listeners.stop()
        }
        parts.logins.stopWatching()
        duties.stop()
        await parts.backups?.stop()
        databases.stop(isKilled: isKilled) { parts.backups?.finish(databases.workers.map(\.name), isKilled: isKilled) }
        parts.directory?.close()
        await audit?.finish()
        gate.stop()
        switch was {
        case .no, .stopped: break
        case .loopback, .sockets: configuration.log?.about(.network)(.info, "stopped")
        }
    }

    /// Hands the sessions over to another server that shares the journals, if one has said where it is reached. Otherwise
    /// their stores look for one when their connections end.
    private func handOverToOthers(from listening: Listening) async {
        switch listening {
        case .no, .stopped: return
        case .loopback, .sockets: break
        }
        guard let journals = configuration.journals else { return }
        parts.readiness.noteDraining()
        let url = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: journals.leave()) }
        }
        guard let url else { return }
        do {
            try handOver(to: url)
            configuration.log?.about(.network)(.info, "sessions are handed over", [("to", url)])
        } catch {
            configuration.log?.about(.network)(
                .warning, "sessions cannot be handed over", [("to", url), ("reason", "\(error)")])
        }
    }

    /// Reads the files of the certificate again, which new connections are then shown. Open connections go on.
    ///
    /// - Throws: ``ServerError`` when there is no certificate, or when a file cannot be used; the server goes on with
    ///   what it had.
    public func reloadCertificate() throws {
        guard let certificate = configuration.certificate else { throw Self.noCertificate }
        try show(certificate)
    }

    private static let noCertificate = ServerError(
        .certificate, "the server shows no certificate, so there is none to read again")

    /// Reads the files of a certificate, which new connections are then shown.
    private func show(_ certificate: ServerConfiguration.Certificate) throws {
        guard configuration.certificate != nil, case .sockets(let listeners) = listening.withLock({ $0 }) else {
            throw Self.noCertificate
        }
        do throws(TransportError) {
            try listeners.stores.reload(
                TLSServerConfiguration(
                    certificateChainFile: certificate.chainFile, privateKeyFile: certificate.keyFile))
        } catch {
            throw ServerError(.certificate, error.message, cause: error)
        }
    }

    /// Takes over those parts of a configuration that a running server can change: the certificate, whose files are read
    /// again, the rules and the quotas. Open connections go on. Databases take over rules and quotas soon after; what
    /// somebody has beyond a new quota stays.
    ///
    /// - Parameter configuration: whether there is a certificate, or rules, is settled when the server starts; a part that
    ///   is nil stays as it is.
    /// - Throws: ``ServerError`` when a part is invalid or a file cannot be used; then nothing changes.
    public func reload(_ configuration: ServerConfiguration) throws {
        try LoginSetup.check(configuration.quotas)
        let rules = try LoginSetup.rules(configuration)
        if let certificate = configuration.certificate { try show(certificate) }
        parts.ledger.quotas = configuration.quotas
        parts.origins.allow(configuration.allowedOrigins)
        databases.change(rules == parts.rules.withLock { $0 } ? nil : rules, configuration.quotas)
        if let rules { parts.rules.withLock { $0 = rules } }
    }

    /// Hands every session over to another server, and every one that stores ask to open from now on: their stores
    /// connect there, by themselves and at once. The databases of this server go on for this process.
    ///
    /// The other server must have what this one has accepted, such as a copy of the data folder that was made after the
    /// call; what stores have sent and this server has not acknowledged they send there. Where the other server cannot
    /// be reached, stores return to their own and try again.
    ///
    /// - Parameter url: `ws://HOST:PORT` or `wss://…`, without a database; nil serves sessions here again. Stores that
    ///   use `wss` follow to `wss` only.
    /// - Throws: ``ServerError`` when the URL is malformed or names a database.
    public func handOver(to url: String?) throws {
        guard let url else {
            parts.readiness.noteHandOver(false)
            return parts.door.handOver(to: nil)
        }
        let endpoint: Endpoint
        do { endpoint = try Endpoint(url) } catch {
            throw ServerError(.invalidConfiguration, error.message, cause: error)
        }
        guard endpoint.target == "/" else {
            throw ServerError(
                .invalidConfiguration, "sessions are handed over to a server, for all databases: '\(url)' has a path")
        }
        // One that was started to send stores on does its work.
        parts.readiness.noteHandOver(url != configuration.handsOverTo)
        parts.door.handOver(to: "\(endpoint.usesTLS ? "wss" : "ws")://\(endpoint.authority)")
    }

    /// Ends all sessions of a user at once, those at other nodes of a cluster within a second, and refuses the session
    /// tokens and the tokens of issuers that the user has so far. A password is not changed by this. Blocks until it is
    /// stored.
    ///
    /// - Parameter user: the user's id.
    /// - Throws: ``ServerError`` when the server is for development, or when the users cannot be changed at the moment.
    public func revoke(user: String) throws {
        try change { try $0.revoke(user) }
        audit?.note(.userChanged(.revoked, user: user), user: User.serverID)
    }

    /// Ends the sessions that a session token has opened, at all nodes of a cluster, and refuses the token. Blocks until
    /// it is stored.
    ///
    /// - Parameter sessionToken: the token as the client has it. One that is over changes nothing.
    /// - Throws: ``ServerError`` when the server is for development, or when the users cannot be changed at the moment.
    public func revoke(sessionToken: String) throws {
        var user: String?
        try change { user = try $0.revoke(token: sessionToken) }
        if let user { audit?.note(.userChanged(.loginEnded, user: user), user: User.serverID) }
    }

    /// The folder of the databases; nil for databases in memory.
    var dataFolder: String? { configuration.dataFolder }

    /// Whether other servers share the databases.
    var isNode: Bool { configuration.journals != nil }

    /// The log of what concerns databases.
    var log: LogSink? { configuration.log?.about(.database) }

    /// Changes the users, and brings the open sessions to what has become of them.
    func change(_ body: (UserDirectory) throws -> Void) throws {
        guard let directory = parts.directory else {
            throw ServerError(.invalidConfiguration, "a development server knows no users, so it can change none")
        }
        do { try body(directory) } catch {
            let code: ServerError.Code = configuration.journals == nil ? .dataFolder : .database
            throw ServerError(code, "the users cannot be changed: \(error)", cause: error)
        }
        parts.logins.checkAll()
    }

    /// How the server is, as `/health/ready` says it. It waits for nothing.
    package var health: ServerHealth { parts.readiness.health }

    /// What the server has counted so far and what there is, in Prometheus' text format: what `GET /metrics` answers where
    /// ``ServerConfiguration/metricsListen`` has it answered. It waits up to a second for databases that are busy.
    public func metricsText() async -> String { await parts.exposition.text() }

    /// The port at which metrics are answered; nil for none.
    public var metricsPort: UInt16? {
        if case .sockets(let listeners) = listening.withLock({ $0 }) { listeners.metrics?.port } else { nil }
    }

    /// Has `/health/ready` answer 503 from now on, so that a balancer sends no further stores. Those that are here, and
    /// those that still come, are served until ``stop()``.
    public func drain() {
        parts.readiness.noteDraining()
        configuration.log?.about(.network)(.info, "draining")
    }

    /// A database, for work of this process. It is opened with the first work.
    ///
    /// - Throws: ``ServerError`` when no database can have the name, or when the server was stopped.
    package func access(to name: String) throws(ServerError) -> DatabaseAccess {
        guard DatabaseName.isValid(name) else {
            throw ServerError(
                .invalidConfiguration,
                "'\(name)' is no name of a database; it has 1 to 64 letters, digits, underscores and hyphens")
        }
        if case .stopped = listening.withLock({ $0 }) { throw ServerError(.stopped, "the server was stopped") }
        return DatabaseAccess(
            databases.keptWorker(name), limits: parts.limits,
            handle: handleCount.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// Closes the databases that have been unused for a while. This otherwise happens every 15 seconds.
    package func closeIdleDatabases() async {
        await withCheckedContinuation { continuation in databases.sweep { continuation.resume() } }
    }

    /// The number of open databases. It waits for the work that they have.
    package var openDatabaseCount: Int { databases.openCount }

    /// The number of names of databases that the server knows.
    package var databaseNameCount: Int { databases.nameCount }

    /// Lets connections, logins and databases finish what they have.
    ///
    /// - Returns: whether they have nothing more to do.
    package func isQuiet() async -> Bool {
        await parts.logins.flush()
        await parts.backups?.flush()
        return await databases.isQuiet() && duties.isQuiet
    }

    /// Ends the sessions whose proofs are over, as happens every quarter of a second.
    package func expireSessions() { parts.logins.expire() }

    /// How many connections and sessions count to users and addresses: none when everybody has left.
    package var heldCounts: (connections: Int, sessions: Int) { parts.ledger.heldCounts }

    /// Waits until every event loop has done what it had to do.
    package func beat() async {
        if case .sockets(let listeners) = listening.withLock({ $0 }) { await listeners.beat() }
    }

    /// The number of open connections.
    public var connectionCount: Int { parts.connections.count }
}
