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

    private let configuration: ServerConfiguration
    let databases: DatabaseDirectory
    /// Which databases clients may open.
    let gate: DatabaseGate
    private let connections = OpenConnections()
    private let ledger: QuotaLedger
    private let logins: LoginChecks
    /// What is told to whoever keeps the audit log; nil if nobody does.
    let audit: AuditTrail?
    /// Gives duties to tasks of this process.
    package let duties: DutyDesk
    private let door: WebSocketDoor
    private let origins: WebOrigins
    private let readiness: Readiness
    private let exposition: Exposition
    /// Makes backups and archives journals; nil if the configuration asks for neither.
    private let backups: BackupService?
    /// The users; nil in development.
    private let directory: UserDirectory?
    private let listening = Mutex(Listening.no)
    private let limits: DatabaseLimits
    /// The rules that the server has now; nil for none of its own.
    private let rules: Mutex<RulesFile?>
    /// The validators and resolvers.
    let policies = WritePolicies()
    /// How many handles on databases this process has made.
    private let handleCount = Atomic<UInt64>(0)

    /// Prepares a server; ``start()`` makes it listen.
    ///
    /// - Throws: ``ServerError`` when the configuration is invalid, when the data folder cannot be created or written,
    ///   or when another server uses the folder.
    public init(_ configuration: ServerConfiguration) throws {
        try LoginSetup.check(configuration)
        var configuration = configuration
        if let journals = configuration.journals {
            let now = configuration.now
            configuration.now = { Timestamp(microseconds: now().microseconds + journals.clockOffset) }
        }
        let meter = ServerMeter()
        configuration.metrics = configuration.metrics.map { ServerMetricsGroup([meter, $0]) } ?? meter
        let showsDashboard = configuration.isDevelopment || configuration.servesDashboard
        let ring = LogRing(now: configuration.now)
        if showsDashboard { configuration.log = ring.keeping(configuration.log) }
        self.configuration = configuration
        var limits = DatabaseLimits()
        limits.apply(configuration.quotas)
        self.limits = limits
        let rules = try LoginSetup.rules(configuration)
        self.rules = Mutex(rules)
        let opener = DatabaseOpener(
            folder: configuration.dataFolder, workerID: configuration.workerID, limits: limits,
            random: configuration.random, now: configuration.now, log: configuration.log?.about(.database),
            rules: rules, policies: policies, metrics: configuration.metrics,
            databaseCountMax: configuration.quotas.databaseCountMax, journals: configuration.journals,
            replicas: configuration.replicas)
        duties = DutyDesk(
            configuration.journals?.duties ?? LocalDuties(now: configuration.now()),
            log: configuration.log?.about(.database), schedule: configuration.schedule)
        let log = configuration.log?.about(.network)
        ledger = QuotaLedger(configuration.quotas)
        let gate = try DatabaseGate(
            configuration.dataFolder, log: configuration.log?.about(.database),
            isOfNode: configuration.journals != nil,
            // Names may be secrets, and who may store rules everywhere runs the server.
            tellsNames: { [isDevelopment = configuration.isDevelopment, terms = opener.terms] user in
                isDevelopment || terms.mayStoreRules(user)
            })
        self.gate = gate
        let audit = configuration.auditLog.map {
            AuditTrail($0, now: configuration.now, schedule: configuration.schedule)
        }
        self.audit = audit
        let reports = ServerReports()
        let fanOut = FanOut(
            connections: connections, ledger: ledger, queueByteCountMax: configuration.queueByteCountMax,
            now: configuration.now, log: log, metrics: configuration.metrics, reports: reports)
        databases = try DatabaseDirectory(
            opener, idleTime: configuration.idleDatabaseTime, now: configuration.now, schedule: configuration.schedule,
            uptime: configuration.uptime, replicas: configuration.replicas,
            audit: { [connections] in audit?.note($1, ofDatabase: $0, connections) }, carryOut: fanOut.carryOut)
        let methods = try configuration.isDevelopment ? nil : LoginSetup.methods(configuration)
        let directory = methods?.directory
        self.directory = directory
        // The users of a cluster are not in the data folder.
        let hasOwnUsers =
            configuration.journals == nil && (configuration.logins.hasUsers || !configuration.logins.issuers.isEmpty)
        let areUsersWritable: @Sendable () -> Bool = { directory?.obstacle == nil }
        readiness = Readiness(
            databases, journals: configuration.journals, areUsersWritable: hasOwnUsers ? areUsersWritable : nil,
            uptime: configuration.uptime)
        backups = try BackupService(
            configuration.backups, archive: configuration.archive, of: configuration.dataFolder,
            isAlone: configuration.journals == nil, isDataInPlace: { [databases] in databases.isFolderInPlace },
            now: configuration.now, schedule: configuration.schedule, log: configuration.log?.about(.database)
        ) { [databases] in
            databases.openPositions.map { JournalArchive.Target(name: $0.name, position: $0.position) }
        }
        databases.onClose { [weak backups] in backups?.noteClosed($0) }
        exposition = Exposition(
            databases, connections, readiness, meter, folder: configuration.dataFolder, audit: audit,
            backups: { [backups] in backups?.reading ?? BackupService.Reading() })
        let login: any Login =
            if let methods {
                AccessLogin(
                    Authenticator(methods, now: configuration.now, log: configuration.log?.about(.login)),
                    mayExtendSchema: configuration.allowsEverything)
            } else { DevelopmentLogin() }
        logins = LoginChecks(
            login, of: LoginChecks.Subjects(connections), now: configuration.now,
            log: configuration.log?.about(.login), metrics: configuration.metrics, audit: audit)
        origins = WebOrigins(
            host: configuration.host, usesTLS: configuration.certificate != nil || configuration.isBehindTLSProxy,
            allowed: configuration.allowedOrigins)
        door = WebSocketDoor(
            connections, logins, ledger, SessionRouter(databases), login: login, limits: limits.server,
            isBehindProxy: configuration.isBehindTLSProxy, now: configuration.now, log: log,
            metrics: configuration.metrics, audit: audit, gate: gate, origins: origins)
        reports.begin(
            .init(
                sessions: SessionSurvey(connections: connections, databases: databases, now: configuration.now),
                names: { [databases, folder = configuration.dataFolder] in
                    folder.map { DataFolder.databaseNames($0).filter(DatabaseName.isValid) }
                        ?? databases.workers.map(\.name).sorted()
                },
                health: { [readiness] in readiness.health }, metrics: { [exposition] in await exposition.families() },
                log: ring, tellsAll: configuration.isDevelopment, now: configuration.now))
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
            backups?.begin()
            gate.watch { [weak self] in self?.heedRestriction(of: nil) }
            if let directory {
                logins.startWatching()
                // What other processes change, such as the claims of a user, holds for open sessions too.
                directory.watch { [logins] in logins.checkAll() }
            }
            do {
                if let network = configuration.loopback {
                    try network.listen(configuration.host, hooks: door.hooks)
                    listening = .loopback(network)
                    readiness.noteStart()
                    noteStart(at: "\(configuration.host) in memory", tls: false)
                    return 0
                }
                let listeners = try ServerListeners(
                    configuration, hooks: hooks, metrics: { [exposition] in await exposition.text() },
                    admin: configuration.administration.map(adminPages),
                    isFolderInPlace: { [databases] in databases.isFolderInPlace })
                listening = .sockets(listeners)
                readiness.noteStart()
                let port = listeners.stores.port
                noteStart(at: "\(configuration.host) port \(port)", tls: configuration.certificate != nil)
                if let address = configuration.metricsListen, let port = listeners.metrics?.port {
                    let address = "\(address.host) port \(port)"
                    configuration.log?.about(.network)(.info, "listening for metrics", [("address", address)])
                }
                return port
            } catch let error as TransportError {
                let code: ServerError.Code = error.code == .certificateFile ? .certificate : .address
                throw ServerError(code, error.message, cause: error)
            }
        }
    }

    /// What the server does with connections, and with other requests.
    private var hooks: ServerHooks {
        var routes = WebRoutes()
        HealthPages(health: { [readiness] in readiness.health }).add(to: &routes)
        DatabasePages(door: door, origins: origins, limits: limits.server).add(to: &routes)
        StaticPages(origins: origins, servesDashboard: configuration.isDevelopment || configuration.servesDashboard)
            .add(to: &routes)
        var hooks = door.hooks
        hooks.route = { [routes] request in routes.route(request) }
        return hooks
    }

    private func adminPages(_ administration: Administration) -> AdminPages {
        let survey = SessionSurvey(connections: connections, databases: databases, now: configuration.now)
        return AdminPages(
            administration: administration, sessions: { await survey.sessions() },
            endSession: { survey.end($0, by: $1) },
            top: { [databases] in await databases.top() }, databases: { [databases] in databases.states },
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
    /// Uploads that wait to be stored are dropped. None of them is acknowledged, so the clients upload them again to
    /// the next server.
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
        if !isKilled { await handOverToOthers(from: was) }
        readiness.noteStop()
        switch was {
        case .no, .stopped: break
        case .loopback(let network):
            network.stopListening(configuration.host)
            // The connections are closed when this returns, as those of sockets are.
            await network.flush()
        case .sockets(let listeners): await listeners.stop()
        }
        logins.stopWatching()
        duties.stop()
        await backups?.stop()
        databases.stop(isKilled: isKilled) { backups?.finish(databases.workers.map(\.name), isKilled: isKilled) }
        directory?.close()
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
        readiness.noteDraining()
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
        ledger.quotas = configuration.quotas
        origins.allow(configuration.allowedOrigins)
        databases.change(rules == self.rules.withLock { $0 } ? nil : rules, configuration.quotas)
        if let rules { self.rules.withLock { $0 = rules } }
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
            readiness.noteHandOver(false)
            return door.handOver(to: nil)
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
        readiness.noteHandOver(url != configuration.handsOverTo)
        door.handOver(to: "\(endpoint.usesTLS ? "wss" : "ws")://\(endpoint.authority)")
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
        guard let directory else {
            throw ServerError(.invalidConfiguration, "a development server knows no users, so it can change none")
        }
        do { try body(directory) } catch {
            let code: ServerError.Code = configuration.journals == nil ? .dataFolder : .database
            throw ServerError(code, "the users cannot be changed: \(error)", cause: error)
        }
        logins.checkAll()
    }

    /// How the server is, as `/health/ready` says it. It waits for nothing.
    package var health: ServerHealth { readiness.health }

    /// What the server has counted so far and what there is, in Prometheus' text format: what `GET /metrics` answers where
    /// ``ServerConfiguration/metricsListen`` has it answered. It waits up to a second for databases that are busy.
    public func metricsText() async -> String { await exposition.text() }

    /// The port at which metrics are answered; nil for none.
    public var metricsPort: UInt16? {
        if case .sockets(let listeners) = listening.withLock({ $0 }) { listeners.metrics?.port } else { nil }
    }

    /// Has `/health/ready` answer 503 from now on, so that a balancer sends no further stores. Those that are here, and
    /// those that still come, are served until ``stop()``.
    public func drain() {
        readiness.noteDraining()
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
            databases.keptWorker(name), limits: limits, handle: handleCount.wrappingAdd(1, ordering: .relaxed).newValue)
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
        await logins.flush()
        await backups?.flush()
        return await databases.isQuiet() && duties.isQuiet
    }

    /// Ends the sessions whose proofs are over, as happens every quarter of a second.
    package func expireSessions() { logins.expire() }

    /// How many connections and sessions count to users and addresses: none when everybody has left.
    package var heldCounts: (connections: Int, sessions: Int) { ledger.heldCounts }

    /// Waits until every event loop has done what it had to do.
    package func beat() async {
        if case .sockets(let listeners) = listening.withLock({ $0 }) { await listeners.beat() }
    }

    /// The number of open connections.
    public var connectionCount: Int { connections.count }
}
