#if PostgreSQL

internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// The row of a node in `sluice.node`, by which the others and `sluice cluster status` know it.
final class NodeRow: Sendable {
    /// Another run of the same name may take the row over after so long.
    private static let store = PostgresStatement(
        "node",
        """
        INSERT INTO sluice.node (name, run, url, version, format, seen, state)
        VALUES ($1, $2, $3, $4, $5, clock_timestamp(), $6::jsonb)
        ON CONFLICT (name) DO UPDATE SET run = excluded.run, url = excluded.url, version = excluded.version,
          format = excluded.format, seen = excluded.seen, state = excluded.state
        WHERE sluice.node.run = excluded.run OR sluice.node.seen < clock_timestamp() - interval '15 s'
        """)
    /// Ends a run: the node counts as gone at once, and its name is free for the next run.
    private static let end = PostgresStatement(
        nil, "UPDATE sluice.node SET seen = clock_timestamp() - interval '15 s' WHERE name = $1 AND run = $2")
    /// Where clients reach another node that was alive a moment ago. One is as good as another, so that the clients of a
    /// rolling restart are spread.
    private static let other = PostgresStatement(
        nil,
        """
        SELECT url FROM sluice.node WHERE name <> $1 AND url IS NOT NULL
          AND seen > clock_timestamp() - interval '10 s' ORDER BY random() LIMIT 1
        """)

    let name: String
    private let url: String?
    /// The random number of this run.
    let run: [UInt8]
    private let places: JournalPlaces
    private let log: LogSink?
    /// Whether the node has said that it stops, and is not alive any more.
    private let hasLeft = Atomic(false)
    /// Since when another run has had the name; nil if none has.
    private let takenSince = Mutex<ContinuousClock.Instant?>(nil)
    /// A run that has ended keeps its name for 15 s, also from the run that follows it. Beyond that somebody renews it.
    private static let graceTime = Duration.seconds(20)

    init(name: String, url: String?, places: JournalPlaces, log: LogSink?) {
        self.name = name
        self.url = url
        self.places = places
        self.log = log
        run = (0..<16).map { _ in .random(in: .min ... .max) }
    }

    /// Writes that the node stops.
    ///
    /// - Returns: where clients reach another node; nil if none says so.
    func leave(by connection: PostgresConnection) throws(PostgresFailure) -> String? {
        hasLeft.store(true, ordering: .sequentiallyConsistent)
        try connection.execute(Self.end, .text(name), .bytes(run))
        let others = try connection.execute(Self.other, .text(name))
        return others.rowCount > 0 ? others.text(0, row: 0) : nil
    }

    /// Writes that the node is alive, with the positions of its databases.
    func store(by connection: PostgresConnection) throws(PostgresFailure) {
        if hasLeft.load(ordering: .sequentiallyConsistent) { return }
        let heads = places.all.map { "\"\($0.id)\":\($0.position)" }.joined(separator: ",")
        let stored = try connection.execute(
            Self.store, .text(name), .bytes(run), .optionalText(url), .text(SluiceRelease.version),
            .integer(Int64(JournalGroup.format)), .text("{\"heads\":{\(heads)}}"))
        let isTaken = stored.affectedCount == 0
        let mustWarn = takenSince.withLock { since in
            guard isTaken else {
                since = nil
                return false
            }
            let now = ContinuousClock.now
            guard let first = since else {
                since = now
                return false
            }
            guard now - first >= Self.graceTime else { return false }
            since = now
            return true
        }
        if mustWarn {
            log?(.warning, "another node has the name of this one; start one of them with another", [("node", name)])
        }
    }
}

#endif
