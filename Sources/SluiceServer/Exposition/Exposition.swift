internal import SluiceModel

/// Reads the numbers of a server and shows them, the one way for the listener, the file and a program.
final class Exposition: Sendable {
    private let databases: DatabaseDirectory
    private let connections: OpenConnections
    private let readiness: Readiness
    private let meter: ServerMeter
    private let folder: String?
    private let backups: @Sendable () -> BackupService.Reading
    private let audit: AuditTrail?

    /// - Parameters:
    ///   - folder: the data folder; nil for databases in memory.
    ///   - backups: what has become of backups and of the archive.
    init(
        _ databases: DatabaseDirectory, _ connections: OpenConnections, _ readiness: Readiness, _ meter: ServerMeter,
        folder: String?, audit: AuditTrail? = nil, backups: @escaping @Sendable () -> BackupService.Reading
    ) {
        self.databases = databases
        self.connections = connections
        self.readiness = readiness
        self.meter = meter
        self.folder = folder
        self.backups = backups
        self.audit = audit
    }

    /// The numbers in Prometheus' text format, version 0.0.4.
    func text() async -> String { await families().map(\.text).joined() }

    /// The numbers.
    func families() async -> [MetricFamily] {
        var reading = ServerReading()
        reading.databases = await databases.sample()
        reading.health = readiness.health
        reading.counts = meter.counts
        reading.backups = backups()
        reading.cluster = databases.clusterCounts.reading
        reading.lostAuditEventCount = audit?.lostCount ?? 0
        let peers = connections.all
        reading.connectionCount = peers.count
        reading.waitingByteCount = peers.reduce(0) { $0 + $1.connection.queuedBytes }
        for worker in databases.workers {
            let waiting = worker.waitingCounts
            reading.mailboxEventCount += waiting.events
            reading.mailboxByteCount += waiting.bytes
            guard let folder, case .open = worker.health.state else { continue }
            let path = "\(folder)/\(DatabaseFileName.of(worker.name))"
            reading.databaseByteCount += ServerReading.byteCount(ofFile: path)
            reading.walByteCount += ServerReading.byteCount(ofFile: path + "-wal")
        }
        return ServerFamilies.make(reading)
    }
}
