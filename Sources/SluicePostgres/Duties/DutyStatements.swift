#if PostgreSQL

/// The statements about duties. The clock is PostgreSQL's.
enum DutyStatements {
    /// How long a duty lasts after it was granted or renewed.
    static let time = Duration.seconds(10)

    /// Takes a duty: its term, or no row if somebody has it. `$1` the database's name, `$2` the duty's, `$3` the
    /// node, `$4` the run.
    static let take = PostgresStatement(
        "takeDuty",
        """
        INSERT INTO sluice.duty AS d (database, name, node, run, term, until)
        SELECT id, $2, $3, $4, 1, clock_timestamp() + interval '10 s' FROM sluice.database WHERE name = $1
        ON CONFLICT (database, name) DO UPDATE SET node = excluded.node, run = excluded.run, until = excluded.until,
          term = d.term + 1
        WHERE d.until <= clock_timestamp() RETURNING term
        """)

    /// Renews a duty, if the run still has it in the same term. `$1` the database's name, `$2` the duty's, `$3` the run, `$4` the
    /// term.
    static let renew = PostgresStatement(
        "renewDuty",
        """
        UPDATE sluice.duty SET until = clock_timestamp() + interval '10 s' WHERE name = $2 AND run = $3 AND term = $4
          AND until > clock_timestamp() AND database = (SELECT id FROM sluice.database WHERE name = $1)
        """)

    /// Gives a duty up. The row stays, so that terms ascend. Parameters as for ``renew``.
    static let giveUp = PostgresStatement(
        nil,
        """
        UPDATE sluice.duty SET until = clock_timestamp() WHERE name = $2 AND run = $3 AND term = $4
          AND database = (SELECT id FROM sluice.database WHERE name = $1)
        """)

    /// The condition that a run has a duty of the database `$1`, by the numbers of the parameters that say which: the name,
    /// then the run, then the term.
    static func isHeld(name: Int) -> String {
        """
        EXISTS (SELECT 1 FROM sluice.duty WHERE database = $1 AND name = $\(name) AND run = $\(name + 1)
          AND term = $\(name + 2) AND until > clock_timestamp())
        """
    }
}

#endif
