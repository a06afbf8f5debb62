#if PostgreSQL

/// The statements of the users' tables. What deletes or touches rows of several users passes over those that others have
/// locked, so that it waits for nobody.
enum UserStatements {
    /// Counts a change on which open sessions depend, and rings: both with the transaction's end.
    static let tell = PostgresStatement(
        "users-tell",
        """
        WITH changed AS (UPDATE sluice.changes SET number = number + 1 WHERE what = 'users' RETURNING number)
        SELECT count(pg_notify('\(NewsChannel.name)', '\(UserNews.kind) ' || number)) FROM changed
        """)

    /// How often something has changed on which open sessions depend.
    static let changes = PostgresStatement(
        "users-changes", "SELECT coalesce((SELECT number FROM sluice.changes WHERE what = 'users'), 0)")

    static let user = PostgresStatement(
        "user", "SELECT password, generation, claims, created FROM sluice.users WHERE name = $1")

    static let users = PostgresStatement(
        nil,
        """
        SELECT name, password, generation, claims, created,
          (SELECT count(*) FROM sluice.logins AS l WHERE l.name = u.name)
        FROM sluice.users AS u ORDER BY name
        """)

    static let add = PostgresStatement(
        nil,
        """
        INSERT INTO sluice.users (name, password, generation, claims, created) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT DO NOTHING
        """)

    static let setPassword = PostgresStatement(
        nil, "UPDATE sluice.users SET password = $2, generation = generation + 1 WHERE name = $1")

    static let replaceHash = PostgresStatement(
        nil, "UPDATE sluice.users SET password = $2 WHERE name = $1 AND generation = $3")

    static let setClaims = PostgresStatement(nil, "UPDATE sluice.users SET claims = $2 WHERE name = $1")

    static let remove = PostgresStatement(nil, "DELETE FROM sluice.users WHERE name = $1")

    static let raiseGeneration = PostgresStatement(
        nil, "UPDATE sluice.users SET generation = generation + 1 WHERE name = $1")

    static let revoke = PostgresStatement(
        nil,
        """
        INSERT INTO sluice.revocations AS r (name, at)
        VALUES ($1, greatest($2, coalesce((SELECT until FROM sluice.leads WHERE name = $1), $2)))
        ON CONFLICT (name) DO UPDATE SET at = greatest(r.at + 1, excluded.at)
        """)

    static let revocations = PostgresStatement(
        "revocations",
        """
        SELECT r.at FROM unnest($1) WITH ORDINALITY AS n (name, place)
        LEFT JOIN sluice.revocations AS r ON r.name = n.name ORDER BY n.place
        """)

    static let forgetLeads = PostgresStatement(
        nil,
        """
        DELETE FROM sluice.leads WHERE name IN
          (SELECT name FROM sluice.leads WHERE until <= $1 FOR UPDATE SKIP LOCKED)
        """)

    static let noteLead = PostgresStatement(
        nil,
        """
        INSERT INTO sluice.leads AS l (name, until) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET until = greatest(l.until, excluded.until)
        """)

    static let addLogin = PostgresStatement(
        "login-add", "INSERT INTO sluice.logins (name, hash, made, used) VALUES ($1, $2, $3, $3) RETURNING id")

    private static let loginColumns =
        """
        l.id, l.name, l.hash, l.next, l.previous, l.made, l.used, u.password, u.generation, u.claims, u.created
        """

    static let login = PostgresStatement(
        "login",
        """
        SELECT \(loginColumns) FROM sluice.logins AS l JOIN sluice.users AS u ON u.name = l.name
        WHERE l.hash = $1 OR l.next = $1 OR l.previous = $1
        """)

    static let logins = PostgresStatement(
        "logins",
        """
        SELECT \(loginColumns) FROM unnest($1) WITH ORDINALITY AS n (id, place)
        LEFT JOIN (sluice.logins AS l JOIN sluice.users AS u ON u.name = l.name) ON l.id = n.id ORDER BY n.place
        """)

    static let updateLogin = PostgresStatement(
        "login-update",
        "UPDATE sluice.logins SET hash = $2, next = $3, previous = $4, made = $5, used = $6 WHERE id = $1")

    static let noteUse = PostgresStatement(
        "login-use",
        """
        UPDATE sluice.logins SET used = $2 WHERE id IN
          (SELECT id FROM sluice.logins WHERE id = ANY($1) AND used < $2 FOR UPDATE SKIP LOCKED)
        """)

    static let allLogins = PostgresStatement(
        nil, "SELECT id, name, hash, next, previous, made, used FROM sluice.logins ORDER BY id")

    static let allDates = PostgresStatement(
        nil,
        """
        SELECT name, r.at, l.until FROM sluice.revocations AS r FULL JOIN sluice.leads AS l USING (name) ORDER BY name
        """)

    static let noteRevocation = PostgresStatement(
        nil,
        """
        INSERT INTO sluice.revocations AS r (name, at) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET at = greatest(r.at, excluded.at)
        """)

    static let restore = PostgresStatement(nil, "DELETE FROM sluice.revocations WHERE name = $1")

    static let forgetLocks = PostgresStatement(
        nil,
        """
        DELETE FROM sluice.locks WHERE name IN
          (SELECT name FROM sluice.locks WHERE until <= $1 FOR UPDATE SKIP LOCKED)
        """)

    static let noteLock = PostgresStatement(
        nil,
        """
        INSERT INTO sluice.locks AS l (name, until, failures) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE SET until = greatest(l.until, excluded.until),
          failures = greatest(l.failures, excluded.failures)
        """)

    static let locks = PostgresStatement(nil, "SELECT name, until, failures::int8 FROM sluice.locks ORDER BY name")

    static let unlock = PostgresStatement(nil, "DELETE FROM sluice.locks WHERE name = $1")

    static let removeLogin = PostgresStatement(nil, "DELETE FROM sluice.logins WHERE id = $1")

    static let removeLogins = PostgresStatement(nil, "DELETE FROM sluice.logins WHERE name = $1")

    static let forgetLogins = PostgresStatement(
        "logins-forget",
        """
        DELETE FROM sluice.logins WHERE id IN
          (SELECT id FROM sluice.logins WHERE used < $1 FOR UPDATE SKIP LOCKED)
        """)
}

#endif
