#if PostgreSQL

/// The statements about snapshots, and about comparisons of replicas.
enum SnapshotStatements {
    /// The whole snapshots of a database, the newest first. `$1` its name.
    static let list = PostgresStatement(
        "snapshots",
        """
        SELECT s.id, s.position, s.chain, s.bytes, s.state > 1 FROM sluice.snapshot AS s
        JOIN sluice.database AS d ON d.id = s.database WHERE d.name = $1 AND s.state > 0 ORDER BY s.position DESC
        """)

    /// What the journal has after a position: the number of groups, their bytes, the last position, the first, and whether
    /// all have their bytes. `$1` the database's name, `$2` the position. The sum needs only the lengths.
    static let after = PostgresStatement(
        "after",
        """
        SELECT count(*), coalesce(sum(octet_length(record)), 0)::int8, coalesce(max(position), $2),
          coalesce(min(position), $2), coalesce(bool_and(octet_length(record) > 0), true)
        FROM sluice.journal WHERE database = (SELECT id FROM sluice.database WHERE name = $1) AND position > $2
        """)

    /// How many seconds ago the group after a position was appended. Parameters as for ``after``.
    static let age = PostgresStatement(
        nil,
        """
        SELECT extract(epoch FROM clock_timestamp() - at)::int8 FROM sluice.journal
        WHERE database = (SELECT id FROM sluice.database WHERE name = $1) AND position > $2 ORDER BY position LIMIT 1
        """)

    /// Begins a snapshot. No row if the duty is another's. `$1` the database, `$2` the duty's name, `$3` the run, `$4` the
    /// term, `$5` the position, `$6` the chain.
    static let begin = PostgresStatement(
        nil,
        """
        INSERT INTO sluice.snapshot (database, position, chain) SELECT $1, $5, $6 WHERE \(DutyStatements.isHeld(name: 2))
        RETURNING id
        """)

    /// `$1` the snapshot, `$2` the number of the part, `$3` its bytes.
    static let addPart = PostgresStatement(nil, "INSERT INTO sluice.part (snapshot, number, bytes) VALUES ($1, $2, $3)")

    /// Gives a snapshot a state. No row if the duty is another's, or a part is missing. `$1` to `$4` as for ``begin``, `$5` the
    /// snapshot, `$6` the state, `$7` the number of parts, `$8` the bytes of the file.
    static let finish = PostgresStatement(
        nil,
        """
        UPDATE sluice.snapshot SET state = $6, parts = $7, bytes = $8
        WHERE id = $5 AND database = $1 AND (SELECT count(*) FROM sluice.part WHERE snapshot = $5) = $7
          AND \(DutyStatements.isHeld(name: 2))
        """)

    /// Notes that a snapshot was proved. `$1` to `$4` as for ``begin``, `$5` the snapshot.
    static let prove = PostgresStatement(
        nil,
        """
        UPDATE sluice.snapshot SET state = 2 WHERE id = $5 AND database = $1 AND state > 0
          AND \(DutyStatements.isHeld(name: 2))
        """)

    /// Removes what is not needed: snapshots that were never whole, but one, and those before a position. `$1` the database,
    /// `$2` the snapshot that stays, `$3` the position.
    static let removeOthers = PostgresStatement(
        nil,
        """
        WITH gone AS (DELETE FROM sluice.snapshot WHERE database = $1 AND id <> $2 AND (state = 0 OR position < $3)
          RETURNING id)
        DELETE FROM sluice.part USING gone WHERE snapshot = gone.id
        """)

    /// The part of a snapshot with a number, as long as the snapshot is there. `$1` the snapshot, `$2` the number.
    static let part = PostgresStatement(
        nil, "SELECT bytes FROM sluice.part WHERE snapshot = $1 AND number = $2")

    /// Removes the next groups before a position. `$1` to `$4` as for ``begin``, `$5` the position, `$6` the most.
    static let trim = PostgresStatement(
        nil,
        """
        DELETE FROM sluice.journal WHERE database = $1 AND position IN (
          SELECT position FROM sluice.journal WHERE database = $1 AND position < $5 ORDER BY position LIMIT $6)
          AND \(DutyStatements.isHeld(name: 2))
        """)

    // MARK: Comparisons

    /// The nodes that live and have a database open. `$1` its number, as text.
    static let nodes = PostgresStatement(
        nil,
        """
        SELECT name FROM sluice.node WHERE seen > clock_timestamp() - interval '15 s' AND state -> 'heads' ? $1
        """)

    /// `$1` the database, `$2` the position, `$3` the node, `$4` the digest.
    static let note = PostgresStatement(
        nil,
        """
        INSERT INTO sluice.digest (database, position, node, digest) VALUES ($1, $2, $3, $4)
        ON CONFLICT (database, position, node) DO UPDATE SET digest = excluded.digest, at = excluded.at
        """)

    static let forgetDigests = PostgresStatement(
        nil, "DELETE FROM sluice.digest WHERE database = $1 AND at < clock_timestamp() - interval '1 day'")

    static let lastComparison = PostgresStatement(
        nil, "SELECT coalesce(max(position), 0) FROM sluice.digest WHERE database = $1")

    /// `$1` the database, `$2` the position.
    static let digests = PostgresStatement(
        nil, "SELECT node, digest FROM sluice.digest WHERE database = $1 AND position = $2")

    // MARK: Requests

    /// Asks for something. `$1` the database, `$2` what, `$3` the channel.
    static let request = PostgresStatement(
        nil,
        """
        WITH former AS (DELETE FROM sluice.request WHERE database = $1 AND name = $2 RETURNING 1),
          asked AS (INSERT INTO sluice.request (database, name) SELECT $1, $2 FROM (SELECT count(*) FROM former) AS gone
            ON CONFLICT DO NOTHING)
        SELECT pg_notify($3, $1 || ' \(NewsChannel.upkeep)')
        """)

    static let requests = PostgresStatement("requests", "SELECT database, name FROM sluice.request")

    static let finishRequest = PostgresStatement(
        nil, "DELETE FROM sluice.request WHERE database = $1 AND name = $2 AND \(requestNumber) = $3")

    /// When it was made, in microseconds since 1970.
    private static let requestNumber = "(extract(epoch FROM at) * 1000000)::int8"

    static let pendingRequest = PostgresStatement(
        nil, "SELECT \(requestNumber) FROM sluice.request WHERE database = $1 AND name = $2")
}

#endif
