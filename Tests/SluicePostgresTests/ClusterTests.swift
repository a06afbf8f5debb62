#if PostgreSQL

import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

struct ClusterTests {
    private let server: PostgresServer

    init() async throws { server = try await PostgresServer.shared.value }

    /// The message with which a node refuses a server.
    private func refusal(_ database: TestDatabase, user: String = "sluice", code: StorageError.Code = .journal)
        -> String
    {
        let url = database.url(user: user)
        let error = #expect(throws: StorageError.self) {
            let node = try PostgresJournals(url: url, node: "node")
            defer { node.stop() }
            _ = try node.open()
        }
        #expect(error?.code == code)
        return error?.message ?? ""
    }

    @Test func `the tables are made once, and again is nothing`() throws {
        let database = try server.emptyDatabase()
        #expect(refusal(database).contains("sluice cluster init"))
        #expect(try PostgresCluster.initialize(database.url).contains("CREATE TABLE IF NOT EXISTS sluice.journal"))
        #expect(try PostgresCluster.initialize(database.url).isEmpty)
        #expect(try database.number("SELECT tables FROM sluice.cluster") == Int64(ClusterTables.version))
        let storage = "SELECT count(*) FROM pg_attribute WHERE attname = 'record' AND attstorage = 'e'"
        #expect(try database.number(storage) == 1)
    }

    @Test func `two may make the tables at once`() async throws {
        let database = try server.emptyDatabase()
        async let first = blocking { try PostgresCluster.initialize(database.url) }
        async let second = blocking { try PostgresCluster.initialize(database.url) }
        let scripts = try await [first, second]
        #expect(scripts.filter(\.isEmpty).count == 1)
    }

    @Test func `an administrator's SQL makes the tables for a role that can use them`() throws {
        let database = try server.emptyDatabase()
        let role = "role of \(database.name)"
        try database.run("CREATE ROLE \"\(role)\" LOGIN")
        try database.run(PostgresCluster.sql(role: role))
        let user = role.replacing(" ", with: "%20")
        let node = try PostgresJournals(url: database.url(user: user), node: "node")
        defer { node.stop() }
        try node.open().appendAll(1...3)
    }

    @Test func `a role without rights is told what is missing`() throws {
        let database = try server.database()
        let role = "poor_\(database.name)"
        try database.run("CREATE ROLE \(role) LOGIN")
        #expect(refusal(database, user: role).contains("cluster init --print --role=\(role)"))
        try database.run(
            "GRANT USAGE ON SCHEMA sluice TO \(role); GRANT SELECT ON ALL TABLES IN SCHEMA sluice TO \(role)")
        #expect(refusal(database, user: role).contains("INSERT on sluice.journal"))
        let error = #expect(throws: StorageError.self) {
            try PostgresCluster.initialize(try server.emptyDatabase().url(user: role))
        }
        #expect(error?.code == .journal && error?.message.contains("42501") == true)
    }

    @Test(arguments: [false, true]) func `a role that was refused can use the tables after what it was told`(
        isPrinted: Bool
    ) throws {
        let database = try server.database()
        let role = "late_\(database.name)"
        try database.run("CREATE ROLE \(role) LOGIN")
        _ = refusal(database, user: role)
        // Twice, as an administrator may do it.
        for _ in 0..<2 {
            if isPrinted {
                try database.run(PostgresCluster.sql(role: role))
            } else {
                #expect(try PostgresCluster.initialize(database.url, role: role).isEmpty)
            }
        }
        try append(to: database, user: role)
    }

    @Test(arguments: [false, true]) func `roles that could use older tables can use the present ones`(
        isPrinted: Bool
    ) throws {
        let database = try server.emptyDatabase()
        let role = "old role of \(database.name)"
        try makeTables(ofVersion: 1, in: database)
        try database.run(
            """
            CREATE ROLE "\(role)" LOGIN; GRANT USAGE ON SCHEMA sluice TO "\(role)";
            GRANT SELECT ON ALL TABLES IN SCHEMA sluice TO "\(role)"; GRANT INSERT ON sluice.journal TO "\(role)"
            """)
        let user = role.replacing(" ", with: "%20")
        #expect(refusal(database, user: user).contains("tables of version 1"))
        if isPrinted {
            try database.run(PostgresCluster.sql())
        } else {
            #expect(try PostgresCluster.initialize(database.url).contains("sluice.locks"))
        }
        try append(to: database, user: user)
    }

    /// Has a node append.
    private func append(to database: TestDatabase, user: String) throws {
        let node = try PostgresJournals(url: database.url(user: user), node: "node")
        defer { node.stop() }
        try node.open().appendAll(1...3)
    }

    /// Makes the tables that an older program made.
    private func makeTables(ofVersion version: Int, in database: TestDatabase) throws {
        try database.run(ClusterTables.steps[..<version].joined(separator: "\n"))
        try database.run("UPDATE sluice.cluster SET tables = \(version)")
    }

    @Test func `a node uses the tables of the version before, and goes on when they are brought up to date`() throws {
        let database = try server.emptyDatabase()
        try makeTables(ofVersion: ClusterTables.versionMin, in: database)
        let node = try database.node()
        defer { node.stop() }
        let head = try node.open().appendAll(1...2)
        #expect(try !PostgresCluster.initialize(database.url).isEmpty)
        // Both on the connections that it has and on others.
        try node.open().appendAll([3], after: head)
        try database.killBackends()
        try append(to: database, user: "sluice")
        #expect(try PostgresCluster.status(database.url).tables == ClusterTables.version)
    }

    @Test func `tables of a later version are used if they say that this program can, and else refused`() throws {
        let database = try server.database()
        try database.run("UPDATE sluice.cluster SET tables = 99")
        #expect(try PostgresCluster.initialize(database.url).isEmpty)
        try append(to: database, user: "sluice")
        try database.run("UPDATE sluice.cluster SET oldest = 99")
        #expect(refusal(database).contains("version 99"))
        let error = #expect(throws: StorageError.self) { try PostgresCluster.initialize(database.url) }
        #expect(error?.message.contains("newer than this program") == true)
        try database.run("UPDATE sluice.cluster SET tables = 1, oldest = NULL")
        #expect(refusal(database).contains("cluster init"))
    }

    @Test func `a database of another encoding is refused`() throws {
        let database = try server.emptyDatabase("ENCODING 'SQL_ASCII' TEMPLATE template0")
        #expect(refusal(database).contains("ENCODING 'UTF8'"))
    }

    @Test func `a server that is not there does not answer, and another of the URL is taken`() throws {
        let database = try server.database()
        let port = try UnusedPort.next()
        let absent = TestDatabase(server: server, name: database.name, port: port)
        #expect(refusal(absent, code: .busy).contains("does not answer"))
        let both = "postgres://sluice@127.0.0.1:\(port),127.0.0.1:\(database.port)/\(database.name)"
        let node = try PostgresJournals(url: both, node: "node")
        defer { node.stop() }
        try node.open().appendAll(1...3)
    }

    @Test func `a login that fails says so, and never the password`() throws {
        let database = try server.database()
        let isThere = try database.number("SELECT count(*) FROM pg_roles WHERE rolname = 'with_password'") == 1
        if !isThere { try database.run("CREATE ROLE with_password LOGIN SUPERUSER PASSWORD 'r1ght'") }
        for password in [":wr0ng", ""] {
            let message = refusal(database, user: "with_password\(password)")
            #expect(message.contains("check user, password and database") && !message.contains("wr0ng"), "\(message)")
        }
        #expect(refusal(database, user: "nobody:wr0ng").contains("refuses the login"))
        let lost = TestDatabase(server: server, name: "wr0ng_database", port: server.port)
        #expect(refusal(lost).contains("refuses the login"))
        let node = try PostgresJournals(url: database.url(user: "with_password:r1ght"), node: "node")
        defer { node.stop() }
        _ = try node.open()
    }

    @Test func `the status says how old a node's word is that it lacks something`() {
        func line(silence: Double, position: UInt64) -> String {
            let node = ClusterStatus.Node(
                name: "a", url: nil, version: "1", format: 1, silence: silence, positions: ["test": position])
            let database = ClusterStatus.Database(
                name: "test", position: 9, start: 0, quiet: 1, snapshot: nil, duties: [:], isDetached: false)
            let status = ClusterStatus(
                tables: 1, format: 1, history: "1/1/1", nodes: [node], databases: [database], warnings: [])
            return status.text.split(separator: "\n").last.map { String($0) } ?? ""
        }
        #expect(line(silence: 2.5, position: 4).hasSuffix("a lacks 5 by what it said 3 s ago"))
        #expect(line(silence: 0.5, position: 4).hasSuffix("a lacks 5"))
        #expect(line(silence: 2.5, position: 9).hasSuffix("a lacks 0"))
    }
}

#endif
