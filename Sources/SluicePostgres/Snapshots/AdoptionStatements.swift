#if PostgreSQL

/// The statements by which a database comes into a cluster with what it has, and leaves it.
enum AdoptionStatements {
    /// Makes the row of a database. No row if there is one. `$1` the name, `$2` the identity.
    static let begin = PostgresStatement(
        nil,
        """
        INSERT INTO sluice.database (name, identity, history) VALUES ($1, $2, '\(DatabaseRow.Phase.adopting.rawValue)')
        ON CONFLICT (name) DO NOTHING RETURNING id
        """)

    /// Prepares the row of a database that has left, or whose adoption was not finished. No row if it is another, or served.
    /// `$1` the name, `$2` the identity.
    static let beginAgain = PostgresStatement(
        nil,
        """
        UPDATE sluice.database SET history = '\(DatabaseRow.Phase.adopting.rawValue)' WHERE name = $1 AND identity = $2
          AND history IN ('\(DatabaseRow.Phase.adopting.rawValue)', '\(DatabaseRow.Phase.sealed.rawValue)') RETURNING id
        """)

    /// Removes what a database had. `$1` the database.
    static let clear = [
        "DELETE FROM sluice.part WHERE snapshot IN (SELECT id FROM sluice.snapshot WHERE database = $1)",
        "DELETE FROM sluice.snapshot WHERE database = $1", "DELETE FROM sluice.journal WHERE database = $1",
        "DELETE FROM sluice.digest WHERE database = $1",
    ].map { PostgresStatement(nil, $0) }

    /// Makes a snapshot that is not whole yet. `$1` the database, `$2` the position, `$3` the chain.
    static let makeSnapshot = PostgresStatement(
        nil, "INSERT INTO sluice.snapshot (database, position, chain) VALUES ($1, $2, $3) RETURNING id")

    /// Begins the journal after the snapshot, which is whole and counts as proved. No row if the adoption was given up. `$1`
    /// the database, `$2` the snapshot, `$3` the number of its parts, `$4` the bytes of its file, `$5` the position, `$6` the
    /// chain, `$7` the node.
    static let finish = PostgresStatement(
        nil,
        """
        WITH adopted AS (UPDATE sluice.database SET history = '\(DatabaseRow.Phase.adopted.rawValue)'
            WHERE id = $1 AND history = '\(DatabaseRow.Phase.adopting.rawValue)' RETURNING id),
          whole AS (UPDATE sluice.snapshot AS s SET state = 2, parts = $3, bytes = $4 FROM adopted WHERE s.id = $2)
        INSERT INTO sluice.journal (database, position, chain, record, node) SELECT id, $5, $6, '', $7 FROM adopted
        """)

    /// Ends the journal of a database: waits for the append that is under way. No row if it has ended for another place.
    /// `$1` the name, `$2` the place, `$3` 1 if it may have ended for another one.
    static let seal = PostgresStatement(
        nil,
        """
        UPDATE sluice.database SET history = '\(DatabaseRow.Phase.sealed.rawValue)', place = $2 WHERE name = $1
          AND history <> '\(DatabaseRow.Phase.adopting.rawValue)'
          AND (history <> '\(DatabaseRow.Phase.sealed.rawValue)' OR coalesce(place, $2) = $2 OR $3 = 1) RETURNING id
        """)

    /// Where a database went whose journal has ended. No row if it has not. The column came with version 4 of the tables.
    /// `$1` the name.
    static let place = PostgresStatement(
        nil,
        """
        SELECT to_jsonb(d) ->> 'place' FROM sluice.database AS d
        WHERE name = $1 AND history = '\(DatabaseRow.Phase.sealed.rawValue)'
        """)

    /// The last group of a database. `$1` its number.
    static let head = PostgresStatement(
        nil, "SELECT position, chain FROM sluice.journal WHERE database = $1 ORDER BY position DESC LIMIT 1")
}

#endif
