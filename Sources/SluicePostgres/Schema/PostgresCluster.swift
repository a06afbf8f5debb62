#if PostgreSQL

internal import FoundationEssentials
public import SluiceStorage

/// The tables of a cluster in a PostgreSQL.
public enum PostgresCluster {
    /// The SQL that makes the tables, in one transaction, for an administrator to read and to run.
    ///
    /// - Parameter role: the role of the nodes, which gets the rights that it needs; nil if it owns the tables.
    public static func sql(role: String? = nil) -> String {
        let grants = role.map { "\n" + ClusterTables.grants(to: $0) } ?? ""
        return "BEGIN;\n\(ClusterTables.script(from: 0))\(grants)\nCOMMIT;\n"
    }

    /// Makes the tables, or brings them to the version of this program, in one transaction. Does nothing if they have it.
    /// Blocks.
    ///
    /// - Parameter url: a URL of libpq, or `file:PATH` of a file that has it.
    /// - Returns: the SQL that was run; empty if there was nothing to do.
    /// - Throws: ``StorageError/Code/journal`` if the role may not, the server cannot hold journals, or the tables are of
    ///   a newer version; ``StorageError/Code/busy`` if the server does not answer.
    @discardableResult
    public static func initialize(_ url: String) throws(StorageError) -> String {
        let address = try PostgresAddress(url)
        do throws(PostgresFailure) {
            let connection = try connect(to: address)
            // One initialization at a time: the number stands for nothing else in this database.
            try connection.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(5421874)")
            let found = try version(of: connection)
            guard found <= ClusterTables.version else { throw PostgresFailure.unsuitable(newer(found)) }
            let script = ClusterTables.script(from: found)
            if !script.isEmpty { try connection.execute(script: script) }
            try connection.execute(script: "COMMIT")
            return script
        } catch {
            throw error.storageError("the cluster's tables could not be made", address)
        }
    }

    /// Connects, and checks what every server has to have.
    static func connect(
        to address: PostgresAddress, timeouts: PostgresTimeouts = PostgresTimeouts(), stop: StopSignal = StopSignal()
    ) throws(PostgresFailure) -> PostgresConnection {
        let connection = try PostgresConnection(to: address, timeouts: timeouts, stop: stop)
        _ = try Greeting(connection, timeouts: timeouts)
        return connection
    }

    /// The version of the tables; 0 if there are none.
    private static func version(of connection: PostgresConnection) throws(PostgresFailure) -> Int {
        let question = PostgresStatement(nil, "SELECT to_regclass('sluice.cluster') IS NOT NULL")
        guard try connection.execute(question).flag(0) else { return 0 }
        return Int(try connection.execute(ClusterTables.versionQuestion).integer(0))
    }

    /// Checks that a node can use the tables as this connection's role.
    ///
    /// - Returns: the cluster's id, and the history that an administrator has accepted; nil for none.
    /// - Throws: ``PostgresFailure/unsuitable(_:)`` with what somebody has to do.
    static func check(
        _ connection: PostgresConnection
    ) throws(PostgresFailure) -> (id: [UInt8], accepted: PostgresHistory?) {
        let cluster: PostgresResult
        do { cluster = try connection.execute(ClusterTables.versionQuestion) } catch {
            switch error.state {
            case "3F000", "42P01":
                throw .unsuitable("has no tables of Sluice; run `sluice cluster init` with this address")
            case "42501": throw .unsuitable(noRights)
            default: throw error
            }
        }
        guard cluster.rowCount == 1 else { throw .unsuitable("has a table sluice.cluster without its row") }
        let found = Int(cluster.integer(0))
        guard found <= ClusterTables.version else { throw .unsuitable(newer(found)) }
        guard found == ClusterTables.version else {
            throw .unsuitable(
                "has tables of version \(found), and this program uses \(ClusterTables.version); run `sluice cluster init`"
            )
        }
        let missing = try connection.execute(ClusterTables.rightsQuestion).text(0)
        guard missing.isEmpty else { throw .unsuitable("\(noRights) (missing: \(missing))") }
        return (cluster.bytes(1), cluster.isNull(2) ? nil : PostgresHistory(cluster.text(2)))
    }

    private static let noRights =
        "does not let this role use the tables; let an administrator run what `sluice cluster init --print` prints"

    private static func newer(_ found: Int) -> String {
        "has tables of version \(found), which are newer than this program; it uses version \(ClusterTables.version). "
            + "Update it"
    }
}

#endif
