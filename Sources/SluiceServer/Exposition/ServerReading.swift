internal import Glibc
internal import SluiceModel

/// The numbers of a server at a moment, from which its families are made. A value, so that the families can be tested
/// without a server.
struct ServerReading: Sendable {
    var health = ServerHealth(phase: .starting)
    var counts = ServerMeter.Counts()
    var databases = DatabaseSample()
    var connectionCount = 0
    /// What waits to be sent on all connections.
    var waitingByteCount = 0
    var mailboxEventCount = 0
    var mailboxByteCount = 0
    /// The files of the open databases.
    var databaseByteCount = 0
    var walByteCount = 0
    /// What a node has done for its cluster.
    var cluster = ClusterCounts.Reading()
    /// Backups and the archive.
    var backups = BackupService.Reading()
    /// Events of the audit log that could not be written.
    var lostAuditEventCount: UInt64 = 0

    /// The size of a file; 0 if there is none.
    static func byteCount(ofFile path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}
