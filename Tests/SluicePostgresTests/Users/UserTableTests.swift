#if PostgreSQL

import SluiceAccess
import SluiceModel
import SluiceStorage
import Synchronization
import TestSupport
import Testing
import UserTrials

@testable import SluicePostgres

/// The users of a cluster, as its nodes and commands have them.
struct UserTableTests {
    private let database: TestDatabase

    init() async throws { database = try await PostgresServer.shared.value.database() }

    /// Counts what a node hears.
    private final class Ear: Sendable {
        private let count = Mutex(0)
        var heard: Int { count.withLock { $0 } }
        var hear: @Sendable () -> Void { { self.count.withLock { $0 += 1 } } }

        func waitFor(_ number: Int) async throws {
            try await wait(for: "news of users, \(number) times") { heard >= number }
        }
    }

    private static func asksNever(_ timeouts: inout PostgresTimeouts) {
        timeouts.pollActive = .seconds(1_000)
        timeouts.pollQuiet = .seconds(1_000)
    }

    @Test(arguments: UserTrial.all)
    func `the tables of a cluster do what every store of users has to do`(_ trial: UserTrial) async throws {
        let (node, other) = (try database.node("a"), try database.node("b"))
        defer { for node in [node, other] { node.stop() } }
        try await trial.run(UserBench(node.users, another: other.users))
    }

    @Test(arguments: [false, true])
    func `every node hears of a change of users, by a bell or by asking`(asks: Bool) async throws {
        let (ear, other) = (Ear(), Ear())
        let reader = try database.node("reader", listenURL: asks ? "none" : nil) {
            if asks { $0.pollActive = .milliseconds(5) } else { Self.asksNever(&$0) }
        }
        let writer = try database.node("writer", Self.asksNever)
        defer { for node in [reader, writer] { node.stop() } }
        let users = reader.users
        users.watch(ear.hear)
        writer.users.watch(other.hear)
        for node in [reader, writer] { node.watch { _ in } }
        // A node that begins looks at all.
        try await ear.waitFor(1)
        try await other.waitFor(1)
        let hash = "a hash"
        let changes: [@Sendable (any UserRecords) throws -> Void] = [
            { _ = try $0.setPassword(hash, of: "ada") }, { _ = try $0.setClaims(#"{"a":1}"#, of: "ada") },
            { try $0.revoke("ada", now: 1) }, { try $0.removeLogin(id: try $0.addLogin(of: "ada", hash: [1], now: 1)) },
            { _ = try $0.remove("ada", now: 1) },
        ]
        try writer.users.write(about: "ada") { _ = try $0.add(UserRecord(name: "ada", password: "x", createdAt: 0)) }
        for (number, change) in changes.enumerated() {
            try writer.users.write(about: "ada", change)
            try await ear.waitFor(number + 2)
            // Also where it was made.
            try await other.waitFor(number + 2)
        }
        // What no session depends on is no news.
        let count = try database.number("SELECT number FROM sluice.changes")
        #expect(count == Int64(changes.count))
        try writer.users.write(about: "ada") { records in
            _ = try records.add(UserRecord(name: "ada", password: "x", createdAt: 0))
            _ = try records.addLogin(of: "ada", hash: [2], now: 1)
            _ = try records.setClaims("{}", of: "eve")
            try records.removeLogins(unusedSince: 0)
        }
        #expect(try database.number("SELECT number FROM sluice.changes") == count)
        users.close()
    }

    @Test func `after the connections were cut, a node looks at all of its users' sessions again`() async throws {
        let proxy = try Proxy(to: database.port)
        let reader = try database.node("reader", port: proxy.port) {
            Self.asksNever(&$0)
            $0.reconnectMin = .milliseconds(1)
            $0.reconnectMax = .milliseconds(10)
        }
        defer {
            reader.stop()
            proxy.stop()
        }
        let ear = Ear()
        reader.users.watch(ear.hear)
        reader.watch { _ in }
        try await ear.waitFor(1)
        proxy.mode = .refuses
        proxy.cut()
        proxy.mode = .forwards
        try await ear.waitFor(2)
    }

    @Test func `where PostgreSQL is silent, logins are to come again and nobody is over`() async throws {
        let proxy = try Proxy(to: database.port)
        let node = try database.node("a", port: proxy.port) {
            $0.answer = .milliseconds(50)
            $0.connect = .milliseconds(50)
            $0.reconnectMin = .milliseconds(1)
            $0.reconnectMax = .milliseconds(1)
        }
        defer {
            node.stop()
            proxy.stop()
        }
        let parameters = PasswordHash.Parameters(costExponent: 4, blockSize: 8, parallelism: 1)
        let directory = UserDirectory(node.users, parameters: parameters, now: { Timestamp(microseconds: 1) })
        let hash = try #require(PasswordHash(of: Array("correct horse".utf8), parameters: parameters))
        try node.users.write(about: "ada") {
            _ = try $0.add(UserRecord(name: "ada", password: hash.text, createdAt: 0))
        }
        func logIn() async -> Result<Admission, LoginRefusal> {
            await withCheckedContinuation { continuation in
                directory.logIn(name: "ada", password: Array("correct horse".utf8), from: "1") {
                    continuation.resume(returning: $0)
                }
            }
        }
        let admission = try await logIn().get()
        let token = try #require(admission.sessionToken)
        proxy.mode = .holds
        for _ in 0..<20 {
            let login = await logIn()
            guard case .failure(.later(_, .unavailable)) = login else { throw Failure("\(login)") }
        }
        let byToken = await withCheckedContinuation { continuation in
            directory.logIn(token: Array(token.utf8)) { continuation.resume(returning: $0) }
        }
        guard case .failure(.later(_, .unavailable)) = byToken else { throw Failure("\(byToken)") }
        #expect(throws: StorageError.self) { try directory.standings(of: [admission.identity]) }
        #expect(throws: StorageError.self) { try directory.revoke("ada") }
        proxy.cut()
        proxy.mode = .forwards
        try await wait(for: "a login") { if case .success = await logIn() { true } else { false } }
        #expect(try directory.standings(of: [admission.identity]) == [.unchanged])
    }

    @Test func `a change whose answer is lost says that it may be there`() async throws {
        let proxy = try Proxy(to: database.port)
        let node = try database.node("a", port: proxy.port) { $0.answer = .milliseconds(200) }
        defer {
            node.stop()
            proxy.stop()
        }
        let error = #expect(throws: StorageError.self) {
            try node.users.write(about: "ada") { records in
                _ = try records.add(UserRecord(name: "ada", password: "x", createdAt: 0))
                proxy.mode = .dropsReplies
            }
        }
        #expect(error?.code == .busy && error?.message.contains("may be there all the same") == true, "\(error as Any)")
    }

    @Test func `ids with whatever bytes are kept apart`() throws {
        let node = try database.node("a")
        defer { node.stop() }
        let names = ["a\0b", "a\\0b", "a\\\0b", "ab", "\0", "\\", "\\\\"]
        for (number, name) in names.enumerated() {
            try node.users.write(about: name) { records in
                _ = try records.add(UserRecord(name: name, password: "\(number)", createdAt: 0))
                try records.revoke(name, now: Int64(number))
            }
        }
        #expect(try node.users.read { try $0.revocations(of: names) } == names.indices.map { Int64($0) })
        let listed = try node.users.read { try $0.users() }
        #expect(Set(listed.map(\.user.name)) == Set(names))
        for entry in listed { #expect(names[Int(entry.user.password) ?? 0] == entry.user.name) }
    }
}

#endif
