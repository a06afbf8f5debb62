#if PostgreSQL

/// The statements of a journal. READ COMMITTED, without foreign keys: `FOR NO KEY UPDATE` orders the appends of a database.
/// Who trims a journal deletes it from the row of position 0 on: a group fits wherever the row before it is there and its
/// own place is free.
enum JournalStatements {
    /// Appends, if the head is the one that the group was made for and the server's history is the database's, which
    /// ends with the number of the table: one row, else none. `$1` the database, `$2` the position, `$3` the chain,
    /// `$4` the record, `$5` the chain before, `$6` the node, `$7` the history.
    static let append = PostgresStatement("append", append(if: "true"))

    /// The same behind a pooler, where the server that answers may be another one than the one that was greeted.
    static let appendPooled = PostgresStatement(
        nil,
        append(
            if: """
                $7 = (SELECT system_identifier FROM pg_control_system()) || '/'
                  || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/'
                  || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8 || '/' || tableoid
                """))

    /// The same as ``append`` for a node that must have a duty: `$8` its name, `$9` the node's run, `$10` the term.
    static let appendHolding = PostgresStatement("appendHolding", append(if: DutyStatements.isHeld(name: 8)))

    private static func append(if condition: String) -> String {
        """
        WITH turn AS (SELECT 1 FROM sluice.database WHERE id = $1 AND history = $7
          AND split_part($7, '/', 4) = tableoid::text AND \(condition) FOR NO KEY UPDATE)
        INSERT INTO sluice.journal (database, position, chain, record, node) SELECT $1, $2, $3, $4, $6 FROM turn
        WHERE EXISTS (SELECT 1 FROM sluice.journal WHERE database = $1 AND position = $2 - 1 AND chain = $5)
        ON CONFLICT DO NOTHING
        """
    }

    /// Appends the epoch with which the server's present history, `$8`, takes the place of the database's, `$7`. Nobody
    /// else can append meanwhile: other epochs wait for the row and then find another history in it, and other groups
    /// have the wrong history.
    static let appendEpoch = PostgresStatement(
        nil,
        """
        WITH turn AS (UPDATE sluice.database SET history = $8 WHERE id = $1 AND history = $7
          AND EXISTS (SELECT 1 FROM sluice.journal WHERE database = $1 AND position = $2 - 1 AND chain = $5)
          AND NOT EXISTS (SELECT 1 FROM sluice.journal WHERE database = $1 AND position = $2) RETURNING 1)
        INSERT INTO sluice.journal (database, position, chain, record, node) SELECT $1, $2, $3, $4, $6 FROM turn
        """)

    /// What there is instead of a group that was not appended: the database's history, whether a row has its position,
    /// whether that is the group itself, whether the row before it fits, whether the journal goes on beyond, and the
    /// number of the table. No row if the database is gone.
    static let inspect = PostgresStatement(
        "inspect",
        """
        SELECT d.history, j.position IS NOT NULL, coalesce(j.chain = $3, false),
          EXISTS (SELECT 1 FROM sluice.journal WHERE database = $1 AND position = $2 - 1 AND chain = $4),
          EXISTS (SELECT 1 FROM sluice.journal WHERE database = $1 AND position > $2), d.tableoid::int8
        FROM sluice.database AS d LEFT JOIN sluice.journal AS j ON j.database = d.id AND j.position = $2 WHERE d.id = $1
        """)

    /// The next records, at most `$3` and as many as have `$4` bytes before the last. The sum needs only their lengths.
    static let records = PostgresStatement(
        "records",
        """
        SELECT position, chain, record FROM (
          SELECT position, chain, record,
            sum(octet_length(record)) OVER (ORDER BY position) - octet_length(record) AS before
          FROM sluice.journal WHERE database = $1 AND position > $2 ORDER BY position LIMIT $3) AS next
        WHERE before < $4
        """)

    /// Whether the group at a position has a chain, or was trimmed. `$1` the database, `$2` the position, `$3` the chain.
    static let contains = PostgresStatement(
        "contains",
        """
        SELECT coalesce((SELECT chain = $3 FROM sluice.journal WHERE database = $1 AND position = $2),
          (SELECT position > $2 FROM sluice.journal WHERE database = $1 ORDER BY position LIMIT 1), false)
        """)

    static let history = PostgresStatement("history", "SELECT history FROM sluice.database WHERE id = $1")

    static let find = PostgresStatement("find", "SELECT id, identity, history FROM sluice.database WHERE name = $1")

    static let names = PostgresStatement(nil, "SELECT name FROM sluice.database ORDER BY name")

    /// Makes a database with the row before its first group, unless there is one of the name. `$1` the name, `$2` the
    /// identity, `$3` the history, `$4` the first chain, `$5` the node.
    static let make = PostgresStatement(
        nil,
        """
        WITH made AS (INSERT INTO sluice.database (name, identity, history) VALUES ($1, $2, $3)
          ON CONFLICT (name) DO NOTHING RETURNING id)
        INSERT INTO sluice.journal (database, position, chain, record, node) SELECT id, 0, $4, '', $5 FROM made
        """)

    /// The last positions of databases, and whether their journals have ended. A step back on the key for each.
    static let heads = PostgresStatement(
        "heads",
        """
        SELECT id, coalesce((SELECT position FROM sluice.journal WHERE database = id ORDER BY position DESC LIMIT 1), 0),
          EXISTS (SELECT 1 FROM sluice.database AS d
            WHERE d.id = id.id AND d.history = '\(DatabaseRow.Phase.sealed.rawValue)')
        FROM unnest($1) AS id
        """)
}

#endif
