#if PostgreSQL

/// The tables of a cluster, as SQL.
enum ClusterTables {
    /// The version of the tables that this program makes and uses.
    static let version = 2

    /// What makes each version out of the one before, in order. Never changed after a release; appended to.
    static let steps = [
        """
        CREATE SCHEMA IF NOT EXISTS sluice;
        CREATE TABLE sluice.cluster (
          one boolean PRIMARY KEY DEFAULT true CHECK (one), id bytea NOT NULL, tables int NOT NULL, accepted text);
        CREATE TABLE sluice.database (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, identity bytea NOT NULL,
          history text NOT NULL);
        CREATE TABLE sluice.journal (
          database bigint NOT NULL, position bigint NOT NULL, chain bytea NOT NULL, record bytea NOT NULL,
          node text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (database, position));
        CREATE TABLE sluice.snapshot (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, database bigint NOT NULL, position bigint NOT NULL,
          chain bytea NOT NULL, parts int NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0,
          state int NOT NULL DEFAULT 0, at timestamptz NOT NULL DEFAULT clock_timestamp());
        CREATE TABLE sluice.part (
          snapshot bigint NOT NULL, number int NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (snapshot, number));
        CREATE TABLE sluice.node (
          name text PRIMARY KEY, run bytea NOT NULL, url text, version text NOT NULL, format int NOT NULL,
          seen timestamptz NOT NULL, state jsonb NOT NULL);
        CREATE TABLE sluice.duty (
          database bigint NOT NULL, name text NOT NULL, node text NOT NULL, run bytea NOT NULL, term bigint NOT NULL,
          until timestamptz NOT NULL, PRIMARY KEY (database, name));
        CREATE TABLE sluice.request (
          database bigint NOT NULL, name text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(),
          PRIMARY KEY (database, name));
        CREATE TABLE sluice.digest (
          database bigint NOT NULL, position bigint NOT NULL, node text NOT NULL, digest bytea NOT NULL,
          at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (database, position, node));
        CREATE UNLOGGED TABLE sluice.message (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, database bigint NOT NULL, node text NOT NULL,
          bytes bytea NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
        CREATE TABLE sluice.users (
          name text COLLATE "C" PRIMARY KEY, password text NOT NULL, generation bigint NOT NULL, claims text NOT NULL,
          created bigint NOT NULL);
        CREATE TABLE sluice.logins (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL,
          hash bytea NOT NULL UNIQUE, next bytea UNIQUE, previous bytea UNIQUE, made bigint NOT NULL,
          used bigint NOT NULL);
        CREATE INDEX logins_name ON sluice.logins (name);
        CREATE INDEX logins_used ON sluice.logins (used);
        CREATE TABLE sluice.revocations (name text COLLATE "C" PRIMARY KEY, at bigint NOT NULL);
        CREATE TABLE sluice.leads (name text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);
        CREATE TABLE sluice.changes (what text PRIMARY KEY, number bigint NOT NULL);
        INSERT INTO sluice.changes (what, number) VALUES ('users', 0);
        ALTER TABLE sluice.journal ALTER record SET STORAGE EXTERNAL;
        ALTER TABLE sluice.part ALTER bytes SET STORAGE EXTERNAL;
        INSERT INTO sluice.cluster (id, tables) VALUES (uuid_send(gen_random_uuid()), 0);
        """,
        """
        CREATE TABLE sluice.locks (name text COLLATE "C" PRIMARY KEY, until bigint NOT NULL, failures int NOT NULL);
        """,
    ]

    /// The statements that bring tables of a version to the present one, without a transaction; empty if they have it.
    ///
    /// - Parameter found: the version that is there; 0 for no tables.
    static func script(from found: Int) -> String {
        guard found < version else { return "" }
        return steps[found...].joined(separator: "\n") + "\nUPDATE sluice.cluster SET tables = \(version);"
    }

    /// The rights that the role of the nodes needs if it does not own the tables.
    static func grants(to role: String) -> String {
        let name = "\"" + role.replacing("\"", with: "\"\"") + "\""
        return """
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

    /// Asks for the version of the tables.
    static let versionQuestion = PostgresStatement(nil, "SELECT tables::int8, id, accepted FROM sluice.cluster")

    /// Asks whether the present role has what ``grants(to:)`` gives.
    static let rightsQuestion = PostgresStatement(
        nil,
        """
        SELECT coalesce(string_agg(needed.r || ' on ' || needed.t, ', '), '') FROM (VALUES
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
        WHERE NOT has_table_privilege(needed.t, needed.r)
        """)
}

#endif
