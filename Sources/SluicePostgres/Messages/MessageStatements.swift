#if PostgreSQL

/// The statements of `sluice.message`, the ephemeral messages on their way between nodes.
enum MessageStatements {
    /// The most rows that there may be, about; what comes then is lost.
    static let countMax = 100_000

    /// Sends messages if another node lives, and rings with the numbers of the first and the last. `$1` the node, `$2` the
    /// databases, `$3` the frames.
    static let send = PostgresStatement(
        "message-send",
        """
        WITH sent AS (
          INSERT INTO sluice.message (database, node, bytes)
          SELECT m.database, $1, m.bytes FROM unnest($2, $3) WITH ORDINALITY AS m (database, bytes, place)
          WHERE EXISTS (SELECT 1 FROM sluice.node WHERE name <> $1 AND seen > clock_timestamp() - interval '15 s')
            AND (SELECT coalesce(max(id) - min(id), 0) FROM sluice.message) < \(countMax)
          ORDER BY m.place RETURNING id)
        SELECT count(pg_notify('\(NewsChannel.name)', concat_ws(' ', '\(MessageInbox.kind)', first, last, $1)))
        FROM (SELECT min(id) AS first, max(id) AS last FROM sent) AS range WHERE first IS NOT NULL
        """)

    /// Deletes what nobody needs any more.
    static let forget = PostgresStatement(
        "message-forget", "DELETE FROM sluice.message WHERE at < clock_timestamp() - interval '10 s'")

    static let last = PostgresStatement(nil, "SELECT coalesce(max(id), 0) FROM sluice.message")

    /// The next messages of one node, `$1`, after the number `$2` up to `$3`, for databases, `$4`.
    static let next = PostgresStatement(
        "message-next",
        """
        SELECT id, database, bytes FROM sluice.message
        WHERE id > $2 AND id <= $3 AND node = $1 AND database = ANY($4) ORDER BY id LIMIT \(MessageInbox.countMax)
        """)

    /// The next messages of all nodes but `$1`: of the nodes `$2` after the numbers `$3`, of others after `$4`; for
    /// databases, `$5`.
    static let nextOfAll = PostgresStatement(
        "message-all",
        """
        SELECT m.id, m.database, m.bytes, m.node FROM sluice.message AS m
        LEFT JOIN unnest($2, $3) AS known (node, id) ON known.node = m.node
        WHERE m.node <> $1 AND m.id > coalesce(known.id, $4) AND m.database = ANY($5)
        ORDER BY m.id LIMIT \(MessageInbox.countMax)
        """)
}

#endif
