#if PostgreSQL

/// The tables of a cluster, as SQL.
enum ClusterTables {
    /// The version of the tables that this program makes.
    static let version = 4

    /// The oldest version that this program can use, so that programs may be updated before the tables.
    static let versionMin = 2

    /// The version of the oldest program that can use the tables that this one makes, so that the tables may be updated
    /// before the programs. It is raised by a step that takes away what older programs use.
    private static let oldestUser = 3

    /// What makes each version out of the one before, in order. Never changed after a release; appended to. Each also does
    /// no harm where it was done before: an administrator may run all of them again.
    static let steps = [
        """
        CREATE SCHEMA IF NOT EXISTS sluice;
        CREATE TABLE IF NOT EXISTS sluice.cluster (
          one boolean PRIMARY KEY DEFAULT true CHECK (one), id bytea NOT NULL, tables int NOT NULL, accepted text);
        CREATE TABLE IF NOT EXISTS sluice.database (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, identity bytea NOT NULL,
          history text NOT NULL);
        CREATE TABLE IF NOT EXISTS sluice.journal (
          database bigint NOT NULL, position bigint NOT NULL, chain bytea NOT NULL, record bytea NOT NULL,
          node text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (database, position));
        CREATE TABLE IF NOT EXISTS sluice.snapshot (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, database bigint NOT NULL, position bigint NOT NULL,
          chain bytea NOT NULL, parts int NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0,
          state int NOT NULL DEFAULT 0, at timestamptz NOT NULL DEFAULT clock_timestamp());
        CREATE TABLE IF NOT EXISTS sluice.part (
          snapshot bigint NOT NULL, number int NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (snapshot, number));
        CREATE TABLE IF NOT EXISTS sluice.node (
          name text PRIMARY KEY, run bytea NOT NULL, url text, version text NOT NULL, format int NOT NULL,
          seen timestamptz NOT NULL, state jsonb NOT NULL);
        CREATE TABLE IF NOT EXISTS sluice.duty (
          database bigint NOT NULL, name text NOT NULL, node text NOT NULL, run bytea NOT NULL, term bigint NOT NULL,
          until timestamptz NOT NULL, PRIMARY KEY (database, name));
        CREATE TABLE IF NOT EXISTS sluice.request (
          database bigint NOT NULL, name text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(),
          PRIMARY KEY (database, name));
        CREATE TABLE IF NOT EXISTS sluice.digest (
          database bigint NOT NULL, position bigint NOT NULL, node text NOT NULL, digest bytea NOT NULL,
          at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (database, position, node));
        CREATE UNLOGGED TABLE IF NOT EXISTS sluice.message (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, database bigint NOT NULL, node text NOT NULL,
          bytes bytea NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
        CREATE TABLE IF NOT EXISTS sluice.users (
          name text COLLATE "C" PRIMARY KEY, password text NOT NULL, generation bigint NOT NULL, claims text NOT NULL,
          created bigint NOT NULL);
        CREATE TABLE IF NOT EXISTS sluice.logins (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL,
          hash bytea NOT NULL UNIQUE, next bytea UNIQUE, previous bytea UNIQUE, made bigint NOT NULL,
          used bigint NOT NULL);
        CREATE INDEX IF NOT EXISTS logins_name ON sluice.logins (name);
        CREATE INDEX IF NOT EXISTS logins_used ON sluice.logins (used);
        CREATE TABLE IF NOT EXISTS sluice.revocations (name text COLLATE "C" PRIMARY KEY, at bigint NOT NULL);
        CREATE TABLE IF NOT EXISTS sluice.leads (name text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);
        CREATE TABLE IF NOT EXISTS sluice.changes (what text PRIMARY KEY, number bigint NOT NULL);
        INSERT INTO sluice.changes (what, number) VALUES ('users', 0) ON CONFLICT DO NOTHING;
        ALTER TABLE sluice.journal ALTER record SET STORAGE EXTERNAL;
        ALTER TABLE sluice.part ALTER bytes SET STORAGE EXTERNAL;
        INSERT INTO sluice.cluster (id, tables) VALUES (uuid_send(gen_random_uuid()), 0) ON CONFLICT DO NOTHING;
        """,
        """
        CREATE TABLE IF NOT EXISTS sluice.locks (
          name text COLLATE "C" PRIMARY KEY, until bigint NOT NULL, failures int NOT NULL);
        """,
        """
        ALTER TABLE sluice.cluster ADD COLUMN IF NOT EXISTS oldest int;
        """,
        """
        ALTER TABLE sluice.database ADD COLUMN IF NOT EXISTS place text;
        """,
    ]

    /// The statements that bring tables of a version to the present one, without a transaction; empty if they have it.
    ///
    /// - Parameter found: the version that is there; 0 for no tables.
    static func script(from found: Int) -> String {
        guard found < version else { return "" }
        return """
            \(steps[found...].joined(separator: "\n"))
            UPDATE sluice.cluster SET tables = \(version), oldest = \(oldestUser) WHERE tables < \(version);
            \(grantsToUsers)
            """
    }

    /// Gives the roles that append what ``grants(to:)`` gives, since a new version may have more tables.
    private static let grantsToUsers = """
        DO $do$ DECLARE role text; BEGIN
          FOR role IN SELECT DISTINCT pg_get_userbyid(item.grantee) FROM pg_class, aclexplode(relacl) AS item
            WHERE oid = 'sluice.journal'::regclass AND item.privilege_type = 'INSERT'
              AND item.grantee NOT IN (0, relowner)
          LOOP EXECUTE format($grants$
        \(grants(toQuoted: "%1$I"))
          $grants$, role); END LOOP;
        END $do$;
        """

    /// The rights that the role of the nodes needs if it does not own the tables.
    static func grants(to role: String) -> String {
        grants(toQuoted: "\"" + role.replacing("\"", with: "\"\"") + "\"")
    }

    /// - Parameter name: a role as SQL names it.
    private static func grants(toQuoted name: String) -> String {
        """
        GRANT USAGE ON SCHEMA sluice TO \(name);
        GRANT SELECT ON ALL TABLES IN SCHEMA sluice TO \(name);
        GRANT INSERT, UPDATE ON sluice.database, sluice.node, sluice.duty, sluice.snapshot, sluice.digest TO \(name);
        GRANT INSERT, DELETE ON sluice.journal, sluice.part, sluice.message, sluice.request TO \(name);
        GRANT DELETE ON sluice.node, sluice.duty, sluice.snapshot, sluice.digest TO \(name);
        GRANT INSERT, UPDATE, DELETE ON sluice.users, sluice.logins, sluice.revocations, sluice.leads, sluice.locks
          TO \(name);
        GRANT UPDATE ON sluice.changes TO \(name);
        """
    }

    /// Asks for the version of the tables, and the oldest program that can use them. The column for that came with
    /// version 3.
    static let versionQuestion = PostgresStatement(
        nil,
        """
        SELECT tables::int8, coalesce((to_jsonb(c) ->> 'oldest')::int8, tables), id, accepted FROM sluice.cluster AS c
        """)

    /// Asks which of the rights that ``grants(to:)`` gives the present role lacks, and for its name.
    ///
    /// - Parameter role: whose; nil for those of the connection.
    static func rightsQuestion(of role: String? = nil) -> PostgresStatement {
        let user = role.map { "'\($0.replacing("'", with: "''"))'" } ?? "current_user"
        return PostgresStatement(
            nil,
            """
            SELECT coalesce(string_agg(needed.r || ' on ' || needed.t, ', '), ''), current_user::text FROM (VALUES
              ('sluice.database', 'INSERT'), ('sluice.database', 'UPDATE'), ('sluice.journal', 'SELECT'),
              ('sluice.journal', 'INSERT'), ('sluice.journal', 'DELETE'), ('sluice.node', 'INSERT'),
              ('sluice.node', 'UPDATE'), ('sluice.duty', 'UPDATE'), ('sluice.snapshot', 'UPDATE'),
              ('sluice.part', 'INSERT'), ('sluice.digest', 'INSERT'), ('sluice.request', 'DELETE'),
              ('sluice.message', 'INSERT'), ('sluice.message', 'DELETE'),
              ('sluice.users', 'INSERT'), ('sluice.users', 'UPDATE'), ('sluice.users', 'DELETE'),
              ('sluice.logins', 'INSERT'), ('sluice.logins', 'UPDATE'), ('sluice.logins', 'DELETE'),
              ('sluice.revocations', 'INSERT'), ('sluice.revocations', 'UPDATE'), ('sluice.leads', 'INSERT'),
              ('sluice.leads', 'UPDATE'), ('sluice.leads', 'DELETE'), ('sluice.changes', 'UPDATE'),
              ('sluice.revocations', 'DELETE'), ('sluice.locks', 'INSERT'), ('sluice.locks', 'UPDATE'),
              ('sluice.locks', 'DELETE')) AS needed (t, r)
            WHERE NOT has_table_privilege(\(user), needed.t, needed.r)
            """)
    }
}

#endif
