#if PostgreSQL

import Sluice
import SluiceBackend
import SluiceServer
import Synchronization
import TestSupport
import Testing

@testable import SluicePostgres

/// A mail that was sent.
@Model struct SentMail {
    @PrimaryKey var id: String
}

/// Work that one of several servers of this process does at a time.
struct AloneTests {
    /// Who had the work, one after the other.
    private final class Diary: Sendable {
        let turns = Mutex<[(node: Int, lease: Lease)]>([])

        /// Waits for the turn of a number.
        func turn(_ number: Int) async throws -> (node: Int, lease: Lease) {
            try await wait(for: "turn \(number)") { turns.withLock { $0.count > number } }
            return turns.withLock { $0[number] }
        }
    }

    @Test func `work of a node that stands still is done by another, and what it writes then is not stored`()
        async throws
    {
        let database = try await PostgresServer.shared.value.database()
        let proxies = try (0..<3).map { _ in try Proxy(to: database.port) }
        let servers = try proxies.enumerated().map { number, proxy in
            var configuration = ServerConfiguration(port: 0, isDevelopment: true)
            configuration.journals = try database.node("node \(number)", port: proxy.port)
            let server = try SyncServer(configuration)
            try server.start()
            return server
        }
        let diary = Diary()
        var databases: [ServerDatabase] = []
        var tasks: [Task<Void, any Error>] = []
        for (number, server) in servers.enumerated() {
            let database = try await server.database("mails", models: [SentMail.self])
            databases.append(database)
            tasks.append(
                Task {
                    try await database.alone("mailer") { lease in
                        diary.turns.withLock { $0.append((number, lease)) }
                        let (end, never) = AsyncStream.makeStream(of: Void.self)
                        // Until it is cancelled.
                        for await _ in end {}
                        never.finish()
                    }
                })
        }
        let first = try await diary.turn(0)
        try await first.lease.database.write { try $0.insert(SentMail(id: "first")) }
        proxies[first.node].mode = .holds
        let second = try await diary.turn(1)
        #expect(second.node != first.node && second.lease.term == first.lease.term + 1)
        try await second.lease.database.write { try $0.insert(SentMail(id: "second")) }
        #expect(!first.lease.isHeld)
        proxies[first.node].mode = .forwards
        let error = await #expect(throws: ServerError.self) {
            try await first.lease.database.write { try $0.insert(SentMail(id: "late")) }
        }
        #expect(error?.code == .dutyLost, "\(error as Any)")
        for database in databases {
            try await database.write { try $0.upsert(SentMail(id: "by all")) }
            var names: [String] = []
            for try await mail in database.objects(SentMail.self).rows() { names.append(mail.id) }
            #expect(names.sorted() == ["by all", "first", "second"])
        }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
        for server in servers { await server.stop() }
        for proxy in proxies { proxy.stop() }
    }
}

#endif
