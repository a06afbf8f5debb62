internal import SluiceAccess
internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage
internal import SluiceTransport
internal import Synchronization

/// The parts of a server, made of its configuration and handed to each other. ``SyncServer`` starts and stops them.
final class ServerParts: Sendable {
    /// As it was given, with the clock of the journals, the metrics and the log that the parts have.
    let configuration: ServerConfiguration
    let databases: DatabaseDirectory
    /// Which databases clients may open.
    let gate: DatabaseGate
    let connections = OpenConnections()
    let ledger: QuotaLedger
    let logins: LoginChecks
    /// What is told to whoever keeps the audit log; nil if nobody does.
    let audit: AuditTrail?
    /// Gives duties to tasks of this process.
    let duties: DutyDesk
    let door: WebSocketDoor
    /// Sends stores elsewhere while the journals do not answer; nil where each database has its own.
    let cutOff: CutOffWatch?
    let origins: WebOrigins
    let readiness: Readiness
    let exposition: Exposition
    /// Makes backups and archives journals; nil if the configuration asks for neither.
    let backups: BackupService?
    /// The users; nil in development.
    let directory: UserDirectory?
    let limits: DatabaseLimits
    /// The rules that the server has now; nil for none of its own.
    let rules: Mutex<RulesFile?>
    /// The validators and resolvers.
    let policies = WritePolicies()

    /// - Throws: as ``SyncServer/init(_:)``.
    init(_ configuration: ServerConfiguration) throws {
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
            opener, idleTime: configuration.idleDatabaseTime,
            clock: ServerClock(
                now: configuration.now, uptime: configuration.uptime, schedule: configuration.schedule),
            replicas: configuration.replicas,
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
        cutOff = configuration.journals.map { [door] in CutOffWatch($0, log: log, tell: { door.sendElsewhere($0) }) }
        reports.begin(
            .init(
                sessions: SessionSurvey(connections: connections, databases: databases, now: configuration.now),
                names: { [databases, folder = configuration.dataFolder] in
                    folder.map { DataFolder.databaseNames($0).filter(DatabaseName.isValid) }
                        ?? databases.workers.map(\.name).sorted()
                },
                health: { [readiness] in readiness.health }, metrics: { [exposition] in await exposition.families() },
                log: ring, tellsAll: configuration.isDevelopment, now: configuration.now))
    }
}
