#if PostgreSQL

import Sluice
import SluiceAccess
import SluiceServer
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

/// Servers of this process on one PostgreSQL, whose sessions end by what another server does.
struct RevokedSessionTests {
    @Test func `what one server revokes ends the sessions at another, by a bell alone`() async throws {
        let database = try await PostgresServer.shared.value.database()
        let servers = try ["a", "b"].map { name in
            var configuration = ServerConfiguration(port: 0)
            configuration.journals = try database.node(name) {
                // Nobody asks, so that only a bell can be the reason.
                $0.pollActive = .seconds(1_000)
                $0.pollQuiet = .seconds(1_000)
            }
            configuration.allowsEverything = true
            configuration.logins.hasUsers = true
            configuration.logins.custom = { if case .token(let id) = $0 { LoginUser(id: id) } else { nil } }
            return try SyncServer(configuration)
        }
        let urls = try servers.map { "ws://127.0.0.1:\(try $0.start())/planes" }
        let commands = try database.node("commands")
        let hash = try #require(PasswordHash(of: Array("correct horse".utf8)))
        try commands.users.write(about: "ada") {
            _ = try $0.add(UserRecord(name: "ada", password: hash.text, createdAt: 0))
        }
        commands.stop()
        func token() async throws -> String {
            let store = try await Ledger.store(
                [urls[0]], credentials: .password(user: "ada", password: "correct horse"))
            try await store.connected(timeout: waitMax)
            let token = try store.sessionToken
            await store.close()
            return try #require(token)
        }
        let tokens = [try await token(), try await token()]
        var stores: [Store] = []
        for credentials: Credentials in [.session(tokens[0]), .session(tokens[1]), .jwt("ben"), .jwt("cy")] {
            stores.append(try await Ledger.store([urls[1]], credentials: credentials))
        }
        for store in stores { try await store.connected(timeout: waitMax) }
        func waitForEnd(of number: Int) async throws {
            try await wait(for: "the end of session \(number)") {
                stores[number].session?.status.state == .needsCredentials
            }
            for store in stores[(number + 1)...] { #expect(store.session?.status.state == .active) }
        }
        try servers[0].revoke(sessionToken: tokens[0])
        try await waitForEnd(of: 0)
        try servers[0].revoke(user: "ada")
        try await waitForEnd(of: 1)
        try servers[1].revoke(user: "ben")
        try await waitForEnd(of: 2)
        for store in stores { await store.close() }
        for server in servers { await server.stop() }
    }
}

#endif
