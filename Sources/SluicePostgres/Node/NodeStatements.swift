#if PostgreSQL

/// The statements about `sluice.node`. The clock is PostgreSQL's.
enum NodeStatements {
    /// Writes that a run of a node is alive: one row, with whether that was written, and ``agreedFormat``. `$1` the name,
    /// `$2` the run, `$3` the URL, `$4` the version, `$5` the newest format of groups, `$6` the state, `$7` the identity of
    /// the data folder, until the run has had the row.
    ///
    /// A run takes the row over from the one before it in the same folder, and from any that has been silent for 15
    /// seconds. What the run before read stays in the row for a day (`older`, `olderSeen`), so that it can come back. Rows of
    /// nodes that were not seen for a month are removed: where each run has another name there would be ever more.
    static let store = PostgresStatement(
        "node",
        """
        WITH stored AS (
          INSERT INTO sluice.node AS n (name, run, url, version, format, seen, state)
          VALUES ($1, $2, $3, $4, $5, clock_timestamp(), $6::jsonb)
          ON CONFLICT (name) DO UPDATE SET run = excluded.run, url = excluded.url, version = excluded.version,
            format = excluded.format, seen = excluded.seen, state = excluded.state || CASE
              WHEN n.format < excluded.format THEN jsonb_build_object('older', least(n.format, \(older("n"))),
                'olderSeen', extract(epoch FROM n.seen)::int8)
              WHEN \(older("n")) IS NOT NULL THEN
                jsonb_build_object('older', n.state -> 'older', 'olderSeen', n.state -> 'olderSeen')
              ELSE '{}' END
          WHERE n.run = excluded.run OR n.seen < clock_timestamp() - interval '15 s' OR n.state ->> 'folder' = $7
          RETURNING 1),
        forgotten AS (DELETE FROM sluice.node WHERE name <> $1 AND seen < clock_timestamp() - interval '30 days')
        SELECT EXISTS (SELECT 1 FROM stored), least($5, (\(agreedFormat)))::int8
        """)

    /// The node that has a name: what tells its last word from others, its version, its URL, and how many milliseconds
    /// old its last word is. `$1` the name.
    static let holder = PostgresStatement(
        nil,
        """
        SELECT encode(run, 'hex') || ' ' || seen, version, url,
          (extract(epoch FROM clock_timestamp() - seen) * 1000)::int8 FROM sluice.node WHERE name = $1
        """)

    /// Notes at an old primary that a node refuses it, without a sign of life there. `$1` to `$5` as for ``store``, `$6` the
    /// timeline that the node has seen.
    static let refuse = PostgresStatement(
        nil,
        """
        INSERT INTO sluice.node AS n (name, run, url, version, format, seen, state)
        VALUES ($1, $2, $3, $4, $5, clock_timestamp() - interval '15 s', jsonb_build_object('refuses', $6))
        ON CONFLICT (name) DO UPDATE SET state = n.state || excluded.state
        """)

    /// Ends a run: the node counts as gone at once, and its name is free for the next run. `$1` the name, `$2` the run.
    static let end = PostgresStatement(
        nil, "UPDATE sluice.node SET seen = clock_timestamp() - interval '15 s' WHERE name = $1 AND run = $2")

    /// Where clients reach another node that was alive a moment ago. One is as good as another, so that the clients of a
    /// rolling restart are spread. `$1` the name of this one.
    static let other = PostgresStatement(
        nil,
        """
        SELECT url FROM sluice.node WHERE name <> $1 AND url IS NOT NULL
          AND seen > clock_timestamp() - interval '10 s' ORDER BY random() LIMIT 1
        """)

    /// The newest format of groups that all nodes read that were seen in the last day, as a query with one row; null
    /// without any.
    static let agreedFormat = """
        SELECT least(min(format), min(\(older("node")))) FROM sluice.node WHERE seen > clock_timestamp() - interval '1 day'
        """

    /// What a former run of a node read that was seen in the last day; null if there was none that read less.
    private static func older(_ row: String) -> String {
        """
        CASE WHEN (\(row).state ->> 'olderSeen')::int8 > extract(epoch FROM clock_timestamp()) - 86400
          THEN (\(row).state ->> 'older')::int END
        """
    }
}

#endif
