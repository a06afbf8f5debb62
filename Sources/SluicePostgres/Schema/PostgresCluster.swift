#if PostgreSQL

internal import FoundationEssentials
public import SluiceStorage

/// The tables of a cluster in a PostgreSQL.
public enum PostgresCluster {
    /// The SQL that makes the tables, or brings those that are there to the version of this program, in one transaction,
    /// for an administrator to read and to run. It can be run again.
    ///
    /// - Parameter role: the role of the nodes, which gets the rights that it needs; nil if it owns the tables.
    public static func sql(role: String? = nil) -> String {
        let grants = role.map { "\n" + ClusterTables.grants(to: $0) } ?? ""
        return "BEGIN;\n\(ClusterTables.script(from: 0))\(grants)\nCOMMIT;\n"
    }

    /// Makes the tables, or brings them to the version of this program, in one transaction. Does nothing if they have it.
    /// Roles that could use the tables before can do so afterwards. Blocks.
    ///
    /// - Parameters:
    ///   - url: a URL of libpq, or `file:PATH` of a file that has it.
    ///   - role: the role of the nodes, which gets the rights that it needs; nil if it owns the tables or has them.
    /// - Returns: the SQL that was run; empty if there was nothing to do.
    /// - Throws: ``StorageError/Code/journal`` if the role may not, the server cannot hold journals, or the tables are of
    ///   a newer version; ``StorageError/Code/busy`` if the server does not answer.
    @discardableResult
    public static func initialize(_ url: String, role: String? = nil) throws(StorageError) -> String {
        let address = try PostgresAddress(url)
        do throws(PostgresFailure) {
            let (connection, _, _) = try newest(address, PostgresTimeouts())
            // One initialization at a time: the number stands for nothing else in this database.
            try connection.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(5421874)")
            let found = try versions(of: connection)
            if let found { try checkUser(of: found) }
            let script = ClusterTables.script(from: found?.tables ?? 0)
            if !script.isEmpty { try connection.execute(script: script) }
            if let role { try grantRights(to: role, by: connection) }
            try connection.execute(script: "COMMIT")
            return script
        } catch {
            throw error.storageError("the cluster's tables could not be made", address)
        }
    }

    /// Gives a role the rights of a node. PostgreSQL only warns somebody who may not give them.
    private static func grantRights(to role: String, by connection: PostgresConnection) throws(PostgresFailure) {
        try connection.execute(script: ClusterTables.grants(to: role))
        let rights = try connection.execute(ClusterTables.rightsQuestion(of: role))
        guard rights.text(0).isEmpty else {
            throw .unsuitable(
                "does not let the role '\(rights.text(1))' give '\(role)' its rights; do it as the owner of the tables, or "
                    + "let an administrator run what `sluice cluster init --print --role=\(role)` prints (missing: "
                    + "\(rights.text(0)))")
        }
    }

    /// The version of the tables and that of the oldest program that can use them; nil if there are none.
    private static func versions(
        of connection: PostgresConnection
    ) throws(PostgresFailure) -> (tables: Int, oldestUser: Int)? {
        let question = PostgresStatement(nil, "SELECT to_regclass('sluice.cluster') IS NOT NULL")
        guard try connection.execute(question).flag(0) else { return nil }
        let found = try connection.execute(ClusterTables.versionQuestion)
        return found.rowCount == 1 ? (Int(found.integer(0)), Int(found.integer(1))) : nil
    }

    /// Refuses tables that only later programs can use.
    private static func checkUser(of found: (tables: Int, oldestUser: Int)) throws(PostgresFailure) {
        guard found.oldestUser > ClusterTables.version else { return }
        throw .unsuitable(newer(found.tables))
    }

    /// What every connection asks for the tables of a cluster.
    struct Row {
        /// The version of the tables.
        var tables: Int
        /// The cluster's id.
        var id: [UInt8]
        /// The history that an administrator has accepted; nil for none.
        var accepted: PostgresHistory?
    }

    /// Checks that a node can use the tables as this connection's role.
    ///
    /// - Throws: ``PostgresFailure/unsuitable(_:)`` with what somebody has to do.
    static func check(_ connection: PostgresConnection) throws(PostgresFailure) -> Row {
        let cluster: PostgresResult
        do { cluster = try connection.execute(ClusterTables.versionQuestion) } catch {
            switch error.state {
            case "3F000", "42P01":
                throw .unsuitable("has no tables of Sluice; run `sluice cluster init` with this address")
            case "42501":
                let role = try connection.execute(PostgresStatement(nil, "SELECT current_user::text"))
                throw .unsuitable(noRights(role.text(0)))
            default: throw error
            }
        }
        guard cluster.rowCount == 1 else { throw .unsuitable("has a table sluice.cluster without its row") }
        let found = Int(cluster.integer(0))
        try checkUser(of: (found, Int(cluster.integer(1))))
        guard found >= ClusterTables.versionMin else {
            throw .unsuitable(
                "has tables of version \(found), and this program uses \(ClusterTables.versionMin) and later; run "
                    + "`sluice cluster init`, or an administrator what `sluice cluster init --print` prints")
        }
        let rights = try connection.execute(ClusterTables.rightsQuestion())
        guard rights.text(0).isEmpty else {
            throw .unsuitable("\(noRights(rights.text(1))) (missing: \(rights.text(0)))")
        }
        return Row(
            tables: found, id: cluster.bytes(2),
            accepted: cluster.isNull(3) ? nil : PostgresHistory(cluster.text(3)))
    }

    private static func noRights(_ role: String) -> String {
        "does not let the role '\(role)' use the tables; let their owner run `sluice cluster init --role=\(role)`, or an "
            + "administrator what `sluice cluster init --print --role=\(role)` prints"
    }

    private static func newer(_ found: Int) -> String {
        "has tables of version \(found), which are newer than this program; it uses version \(ClusterTables.version). "
            + "Update it"
    }
}

#endif
