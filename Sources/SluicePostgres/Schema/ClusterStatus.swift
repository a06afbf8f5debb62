#if PostgreSQL

public import SluiceStorage

/// What the tables of a cluster say of its nodes and databases at a moment.
public struct ClusterStatus: Sendable, Hashable, Codable {
    /// A server process that serves the cluster's databases, or did.
    public struct Node: Sendable, Hashable, Codable {
        /// A node counts as alive for so long after it was last seen, in seconds.
        static let lifeTime = 15.0

        /// The name that no other node has.
        public var name: String
        /// Where clients reach it; nil if it does not say.
        public var url: String?
        /// The version of its program.
        public var version: String
        /// The newest format of groups that it reads.
        public var format: Int
        /// For how many seconds it has said nothing.
        public var silence: Double
        /// The last position of each open database that it has, by the database's name.
        public var positions: [String: UInt64]

        /// Whether it has said something in the last 15 seconds.
        public var isAlive: Bool { silence < Self.lifeTime }
    }

    /// A database of the cluster.
    public struct Database: Sendable, Hashable, Codable {
        /// The name by which stores open it.
        public var name: String
        /// The last position of its journal.
        public var position: UInt64
        /// The first position that its journal still has; 0 if nothing was trimmed.
        public var start: UInt64
        /// For how many seconds nobody has appended.
        public var quiet: Double
        /// The last group of the newest snapshot that was proved; nil if there is none.
        public var snapshot: UInt64?
        /// Which node has each duty now, by the duty's name.
        public var duties: [String: String]
        /// Whether it has left the cluster.
        public var isDetached: Bool
        /// The machine and the folder into which it was detached; nil if it was not, or that is not known.
        public var detachedTo: String?
    }

    /// The version of the tables.
    public var tables: Int
    /// The format in which nodes write groups: the newest that all nodes read that were seen in the last day.
    public var format: Int
    /// The present history of the server: system, timeline and start.
    public var history: String
    /// The nodes by name.
    public var nodes: [Node]
    /// The databases by name.
    public var databases: [Database]
    /// What is wrong with the server, or with another one that the address names, and what to do; mostly nothing.
    public var warnings: [String]

    /// How many groups a node lacks of a database; nil if the node does not have it open.
    ///
    /// - Parameters:
    ///   - node: one of ``nodes``.
    ///   - database: one of ``databases``.
    public func lag(of node: Node, in database: Database) -> UInt64? {
        node.positions[database.name].map { database.position > $0 ? database.position - $0 : 0 }
    }
}

extension PostgresCluster {
    private static let nodesQuestion = PostgresStatement(
        nil,
        """
        SELECT name, url, version, format::int8, (extract(epoch FROM clock_timestamp() - seen) * 1000)::int8,
          coalesce((SELECT string_agg(key || ' ' || value, ',') FROM jsonb_each_text(state -> 'heads')), ''),
          coalesce((state ->> 'refuses')::int8, 0)
        FROM sluice.node ORDER BY name
        """)

    private static let databasesQuestion = PostgresStatement(
        nil,
        """
        SELECT d.name, d.id, last.position, (extract(epoch FROM clock_timestamp() - last.at) * 1000)::int8,
          (SELECT position FROM sluice.journal WHERE database = d.id ORDER BY position LIMIT 1),
          (SELECT max(position) FROM sluice.snapshot WHERE database = d.id AND state = 2),
          coalesce((SELECT string_agg(name || E'\\n' || node, E'\\n' ORDER BY name) FROM sluice.duty
            WHERE database = d.id AND until > clock_timestamp()), ''),
          d.history = '\(DatabaseRow.Phase.sealed.rawValue)', to_jsonb(d) ->> 'place'
        FROM sluice.database AS d CROSS JOIN LATERAL
          (SELECT position, at FROM sluice.journal WHERE database = d.id ORDER BY position DESC LIMIT 1) AS last
        ORDER BY d.name
        """)

    private static let formatQuestion = PostgresStatement(
        nil, "SELECT coalesce((\(NodeStatements.agreedFormat)), \(JournalGroup.formats.upperBound))::int8")

    /// Reads how a cluster is. Blocks. O(nodes and databases · log records).
    ///
    /// - Parameter url: a URL of libpq, or `file:PATH` of a file that has it.
    /// - Throws: ``StorageError/Code/journal`` if the server has no tables that this program can read;
    ///   ``StorageError/Code/busy`` if it does not answer.
    public static func status(_ url: String) throws(StorageError) -> ClusterStatus {
        let address = try PostgresAddress(url)
        do throws(PostgresFailure) {
            let timeouts = PostgresTimeouts()
            let (connection, greeting, olds) = try newest(address, timeouts)
            let cluster = try check(connection)
            var names: [Int64: String] = [:]
            let databases = try connection.execute(databasesQuestion)
            let listed = (0..<databases.rowCount).map { row in
                names[databases.integer(1, row: row)] = databases.text(0, row: row)
                return ClusterStatus.Database(
                    name: databases.text(0, row: row), position: UInt64(clamping: databases.integer(2, row: row)),
                    start: UInt64(clamping: databases.integer(4, row: row)),
                    quiet: Double(databases.integer(3, row: row)) / 1_000,
                    snapshot: databases.isNull(5, row: row) ? nil : UInt64(clamping: databases.integer(5, row: row)),
                    duties: duties(databases.text(6, row: row)), isDetached: databases.flag(7, row: row),
                    detachedTo: databases.flag(7, row: row) && !databases.isNull(8, row: row)
                        ? databases.text(8, row: row) : nil)
            }
            let nodes = try connection.execute(nodesQuestion)
            let format = try connection.execute(formatQuestion)
            var warnings = olds
            if greeting.history != cluster.accepted {
                warnings += refusal(of: greeting.history, at: address, nodes).map { [$0] } ?? []
            }
            return ClusterStatus(
                tables: cluster.tables, format: Int(format.integer(0)), history: greeting.history.description,
                nodes: (0..<nodes.rowCount).map { node(nodes, $0, names) }, databases: listed, warnings: warnings)
        } catch {
            throw error.storageError("the status of the cluster could not be read", address)
        }
    }

    /// Names of duties and nodes by turns, a line each.
    private static func duties(_ text: String) -> [String: String] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return stride(from: 0, to: lines.count - 1, by: 2).reduce(into: [:]) { $0[lines[$1]] = lines[$1 + 1] }
    }

    private static func node(_ result: PostgresResult, _ row: Int, _ names: [Int64: String]) -> ClusterStatus.Node {
        var positions: [String: UInt64] = [:]
        // Such as 1 5,2 7.
        for entry in result.text(5, row: row).split(separator: ",") {
            let numbers = entry.split(separator: " ").compactMap { Int64($0) }
            if numbers.count == 2, let name = names[numbers[0]] { positions[name] = UInt64(clamping: numbers[1]) }
        }
        return ClusterStatus.Node(
            name: result.text(0, row: row), url: result.isNull(1, row: row) ? nil : result.text(1, row: row),
            version: result.text(2, row: row), format: Int(result.integer(3, row: row)),
            silence: Double(result.integer(4, row: row)) / 1_000, positions: positions)
    }
}

#endif
