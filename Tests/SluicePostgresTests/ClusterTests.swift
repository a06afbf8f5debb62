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
        #expect(try PostgresCluster.initialize(database.url).contains("CREATE TABLE sluice.journal"))
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
        #expect(refusal(database, user: role).contains("cluster init --print"))
        try database.run(
            "GRANT USAGE ON SCHEMA sluice TO \(role); GRANT SELECT ON ALL TABLES IN SCHEMA sluice TO \(role)")
        #expect(refusal(database, user: role).contains("INSERT on sluice.journal"))
        let error = #expect(throws: StorageError.self) {
            try PostgresCluster.initialize(try server.emptyDatabase().url(user: role))
        }
        #expect(error?.code == .journal && error?.message.contains("42501") == true)
    }

    @Test func `tables of another version are refused`() throws {
        let database = try server.database()
        try database.run("UPDATE sluice.cluster SET tables = 99")
        #expect(refusal(database).contains("version 99"))
        let error = #expect(throws: StorageError.self) { try PostgresCluster.initialize(database.url) }
        #expect(error?.message.contains("newer than this program") == true)
        try database.run("UPDATE sluice.cluster SET tables = 0")
        #expect(refusal(database).contains("cluster init"))
    }

    @Test func `a database of another encoding is refused`() throws {
        let database = try server.emptyDatabase("ENCODING 'SQL_ASCII' TEMPLATE template0")
        #expect(refusal(database).contains("ENCODING 'UTF8'"))
    }

    @Test func `a server that is not there does not answer, and another of the URL is taken`() throws {
        let database = try server.database()
        let port = try Proxy.freePort()
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
}

#endif
