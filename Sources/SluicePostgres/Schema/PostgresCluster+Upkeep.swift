#if PostgreSQL

internal import SluiceModel
internal import SluiceServer
public import SluiceStorage

/// What administrators ask the nodes of a cluster for.
extension PostgresCluster {
    /// How often it is looked whether nodes have done something.
    private static let pause = Duration.milliseconds(100)

    /// Has a node make a snapshot of a database, and waits until it is proved. Blocks.
    ///
    /// - Parameters:
    ///   - url: a URL of libpq, or `file:PATH` of a file that has it.
    ///   - name: the database, which some node has open.
    ///   - timeout: how long to wait at the longest.
    /// - Returns: the last group that it has.
    /// - Throws: ``StorageError/Code/notFound`` if there is no such database, ``StorageError/Code/busy`` if no node has it
    ///   open, or none was done in time; as ``status(_:)``.
    public static func snapshot(
        _ url: String, database name: String, timeout: Duration = .seconds(600)
    ) throws(StorageError) -> UInt64 {
        try asking(url, name) { journals throws(StorageError) in
            let last = try newest(journals, name)?.id
            try request(.snapshot, journals, name)
            let snapshot = try waiting(timeout, "no node has made a snapshot that was proved; see their logs") {
                () throws(StorageError) -> Snapshot? in
                guard let found = try newest(journals, name), found.id != last, found.isProved else { return nil }
                return found
            }
            return snapshot.head.position
        }
    }

    /// Has the nodes compare their replicas of a database at one position. Blocks.
    ///
    /// - Parameters:
    ///   - url: a URL of libpq, or `file:PATH` of a file that has it.
    ///   - name: the database, which some node has open.
    ///   - timeout: how long to wait at the longest.
    /// - Throws: as ``snapshot(_:database:timeout:)``.
    public static func verify(
        _ url: String, database name: String, timeout: Duration = .seconds(60)
    ) throws(StorageError) -> ClusterComparison {
        try asking(url, name) { journals throws(StorageError) in
            let before = try lastComparison(journals, name)
            try request(.comparison, journals, name)
            let position = try waiting(
                timeout,
                "no node has compared; one that has just ended may have been counted: try again, or see their logs"
            ) {
                () throws(StorageError) -> UInt64? in
                let last = try lastComparison(journals, name)
                return last > before ? last : nil
            }
            let end = ContinuousClock.now + timeout
            while true {
                let digests: [ReplicaDigest]
                let nodes: Set<String>
                do {
                    digests = try journals.snapshots.digests(at: position, ofDatabase: name)
                    nodes = try journals.snapshots.nodes(ofDatabase: name)
                } catch { throw storageError(error) }
                let missing = nodes.subtracting(digests.map(\.node))
                if missing.isEmpty || .now >= end {
                    let found = digests.map { ($0.node, Hexadecimal.encode($0.digest)) }
                    return ClusterComparison(
                        position: position, digests: Dictionary(found) { $1 }, missing: missing.sorted())
                }
                _ = StopSignal().wait(until: .now + pause)
            }
        }
    }

    /// Makes the next group of databases begin an epoch: each store of theirs comes again once, and one that has seen what
    /// is no longer there starts over. The present server counts as the right one, also for nodes that have seen a later
    /// timeline. Blocks.
    ///
    /// - Parameters:
    ///   - url: a URL of libpq, or `file:PATH` of a file that has it.
    ///   - name: the database; nil for all.
    /// - Returns: the number of databases.
    /// - Throws: ``StorageError/Code/notFound`` if there is no such database; ``StorageError/Code/journal`` if the URL leads
    ///   to several servers that take writes; as ``status(_:)``.
    public static func beginEpoch(_ url: String, database name: String? = nil) throws(StorageError) -> Int {
        let address = try PostgresAddress(url)
        let count: Int
        do throws(PostgresFailure) {
            let (connection, greeting) = try only(of: address, PostgresTimeouts())
            _ = try check(connection)
            let begun = PostgresStatement(
                nil,
                """
                WITH accepted AS (UPDATE sluice.cluster SET accepted = $2)
                UPDATE sluice.database SET history = '\(DatabaseRow.Phase.adopted.rawValue)'
                WHERE ($1::text IS NULL OR name = $1) AND history NOT IN
                  ('\(DatabaseRow.Phase.adopting.rawValue)', '\(DatabaseRow.Phase.sealed.rawValue)')
                """)
            count = try connection.execute(begun, .optionalText(name), .text(greeting.history.description))
                .affectedCount
        } catch {
            if error.state == "42501" {
                throw StorageError(
                    .journal,
                    "the epoch could not be begun: it is for the owner of the tables, as whom 'sluice cluster init' was run"
                )
            }
            throw error.storageError("the epoch could not be begun", address)
        }
        if let name, count == 0 {
            throw StorageError(.notFound, "the cluster serves no database '\(name)'; see 'sluice cluster status'")
        }
        return count
    }

    // MARK: Steps

    private static func asking<Result>(
        _ url: String, _ name: String, _ body: (PostgresJournals) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        let journals = try PostgresJournals(url: url, node: "administrator")
        defer { journals.stop() }
        // A node that has opened it says so with its next sign of life.
        let failure = "no node that lives has the database '\(name)' open; open it with a store first"
        _ = try waiting(.seconds(5), failure) { () throws(StorageError) -> Bool? in
            do { return try journals.snapshots.nodes(ofDatabase: name).isEmpty ? nil : true } catch {
                throw storageError(error)
            }
        }
        return try body(journals)
    }

    private static func request(
        _ upkeep: Upkeep, _ journals: PostgresJournals, _ name: String
    ) throws(StorageError) {
        do { try journals.snapshots.request(upkeep, ofDatabase: name) } catch { throw storageError(error) }
    }

    private static func newest(_ journals: PostgresJournals, _ name: String) throws(StorageError) -> Snapshot? {
        do { return try journals.snapshots.snapshots(ofDatabase: name).max { $0.id < $1.id } } catch {
            throw storageError(error)
        }
    }

    private static func lastComparison(_ journals: PostgresJournals, _ name: String) throws(StorageError) -> UInt64 {
        do { return try journals.snapshots.lastComparison(ofDatabase: name) } catch { throw storageError(error) }
    }

    private static func waiting<Result>(
        _ timeout: Duration, _ failure: String, _ body: () throws(StorageError) -> Result?
    ) throws(StorageError) -> Result {
        let end = ContinuousClock.now + timeout
        while true {
            if let result = try body() { return result }
            guard .now < end else { throw StorageError(.busy, failure) }
            _ = StopSignal().wait(until: .now + pause)
        }
    }

    private static func storageError(_ error: any Error) -> StorageError {
        error as? StorageError ?? StorageError(.journal, "\(error)")
    }
}

#endif
