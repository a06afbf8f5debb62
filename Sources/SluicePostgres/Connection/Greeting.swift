#if PostgreSQL

internal import FoundationEssentials

/// What a node asks a server before anything else, and what it sets for its own statements.
struct Greeting: Sendable {
    /// The oldest server that is used, as `server_version_num`: the first with `gen_random_uuid()`.
    private static let versionMin = 130_000

    /// The limits of a session would be those of others behind a pooler, where they are left as they are. The catalog can
    /// be read without rights on the table.
    private static let question = PostgresStatement(
        nil,
        """
        SELECT pg_backend_pid(), current_setting('server_version_num')::int4, current_setting('server_encoding'),
          pg_is_in_recovery(), (SELECT system_identifier FROM pg_control_system()),
          CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END,
          (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8,
          (extract(epoch FROM clock_timestamp()) * 1000000)::int8,
          current_setting('server_version'), current_setting('fsync')::bool,
          coalesce((SELECT c.oid::int8 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname = 'sluice' AND c.relname = 'database'), 0),
          CASE WHEN pg_backend_pid() = $2 THEN (SELECT count(set_config(name, value, false)) FROM (VALUES
            ('statement_timeout', $1), ('lock_timeout', $3), ('idle_in_transaction_session_timeout', $1),
            ('default_transaction_isolation', 'read committed'),
            ('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
              ELSE current_setting('synchronous_commit') END)) AS setting (name, value)) END
        """)

    let history: PostgresHistory
    /// How far the server's clock is ahead of this machine's, in microseconds; negative if it is behind.
    let clockOffset: Int64
    /// Whether another process answers than the one that was connected to: there is a pooler between.
    let isPooled: Bool
    /// Whether the server waits until the disk has what it acknowledges.
    let isDurable: Bool
    /// The server's version, for people.
    let version: String

    /// Asks a server, and sets the limits of the connection's statements.
    ///
    /// - Throws: ``PostgresFailure/unsuitable(_:)`` if the server cannot hold journals, or is not the primary.
    init(_ connection: PostgresConnection, timeouts: PostgresTimeouts) throws(PostgresFailure) {
        guard connection.serverVersion >= Self.versionMin else {
            throw .unsuitable(Self.reason(version: Int(connection.serverVersion)))
        }
        let sent = Date()
        let answer = try connection.execute(
            Self.question, .text("\(timeouts.statement.milliseconds)"), .integer(Int64(connection.processID)),
            .text("\(timeouts.lock.milliseconds)"))
        let received = Date()
        if let problem = Self.problem(
            version: Int(answer.integer(1)), encoding: answer.text(2), isStandby: answer.flag(3))
        {
            throw .unsuitable(problem)
        }
        guard let timeline = UInt32(answer.text(5), radix: 16) else {
            throw .unsuitable("names no timeline; its WAL files are called otherwise than PostgreSQL's")
        }
        history = PostgresHistory(
            system: UInt64(bitPattern: answer.integer(4)), timeline: timeline, start: answer.integer(6),
            tables: UInt32(truncatingIfNeeded: answer.integer(10)))
        let middle = (sent.timeIntervalSince1970 + received.timeIntervalSince1970) / 2
        clockOffset = answer.integer(7) - Int64(middle * 1_000_000)
        isPooled = Int32(truncatingIfNeeded: answer.integer(0)) != connection.processID
        isDurable = answer.flag(9)
        version = answer.text(8)
        connection.preparesStatements = !isPooled
    }

    /// Why a server cannot hold journals; nil if it can.
    ///
    /// - Parameters:
    ///   - version: `server_version_num`.
    ///   - encoding: the encoding of the database.
    ///   - isStandby: whether it repeats what another server does.
    static func problem(version: Int, encoding: String, isStandby: Bool) -> String? {
        if version < versionMin { return reason(version: version) }
        if encoding != "UTF8" {
            return "has the encoding \(encoding); make a database with ENCODING 'UTF8' TEMPLATE template0"
        }
        if isStandby { return "is a standby; name the primary, or all servers in one URL" }
        return nil
    }

    private static func reason(version: Int) -> String {
        "is PostgreSQL \(version / 10_000); Sluice needs \(versionMin / 10_000) or later"
    }
}

#endif
