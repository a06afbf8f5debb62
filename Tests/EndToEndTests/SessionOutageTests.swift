import Foundation
import Glibc
import Sluice
import Synchronization
import TestSupport
import Testing

/// What a program is told of its session while a server in another process is killed, frozen, started again and moved.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct SessionOutageTests {
    /// The lines that a program would print, and the means to wait for one.
    private final class Transcript: Sendable {
        private let lines = Mutex<[String]>([])
        private let token = Mutex<HandlerToken?>(nil)

        init(_ session: StoreSession) {
            let token = session.observe { [weak self] change in
                self?.lines.withLock { $0.append("\(change.new)") }
            }
            self.token.withLock { $0 = token }
        }

        var all: [String] { lines.withLock { $0 } }

        /// Waits for a line that begins with a text, after those that were waited for before.
        func line(_ text: String, after count: Int = 0) async throws {
            try await wait(for: "the line '\(text)'") { self.all.dropFirst(count).contains { $0.hasPrefix(text) } }
        }
    }

    private func sync(_ url: String) -> SyncConfiguration {
        var sync = SyncConfiguration(url: url)
        sync.reconnectDelay = .milliseconds(50)
        sync.reconnectDelayMax = .milliseconds(200)
        sync.heartbeat = .milliseconds(500)
        return sync
    }

    private func insert(_ number: Int, into store: Store) async throws -> WriteReceipt {
        let entry = try Record(Fixture.entry.get(), ["writer": .int(0), "number": .int(Int64(number))])
        return try await store.write { transaction in
            try transaction.insert(entry)
            return transaction.receipt
        }
    }

    @Test func aProgramIsToldWhatHappensToItsServer() async throws {
        try await withFolder { folder in
            let port = try UnusedPort.next()
            var server = try await ServerProcess.start(folder: folder, port: port)
            let store = try await Store.open(
                StoreConfiguration(schema: try Fixture.schema(), sync: sync(server.url())))
            let session = try #require(store.session)
            let transcript = Transcript(session)
            try await transcript.line("idle")
            _ = try await insert(1, into: store)
            try await store.uploaded(timeout: waitMax)

            var count = transcript.all.count
            try await server.kill()
            try await transcript.line("offline: ", after: count)
            let receipt = try await insert(2, into: store)
            #expect(session.activity != .idle && session.activity != .busy)
            count = transcript.all.count
            server = try await ServerProcess.start(folder: folder, port: port)
            try await transcript.line("idle", after: count)
            try await store.uploaded(receipt, timeout: waitMax)

            // A frozen server answers no ping.
            count = transcript.all.count
            server.process.signal(SIGSTOP)
            try await transcript.line("offline: ", after: count)
            #expect(transcript.all.dropFirst(count).contains { $0.contains("sent and took nothing") })
            count = transcript.all.count
            server.process.signal(SIGCONT)
            try await transcript.line("idle", after: count)
            #expect(try await store.found("Entry").count == 2)
            let changes = session.changes
            await store.close()
            let told = transcript.all.count
            var last: SessionChange?
            for await change in changes { last = change }
            #expect(last?.new.activity == .stopped)
            #expect(transcript.all.count == told)
            try await server.kill()
        }
    }

    @Test func everyWaitForAServerThatIsAwayEndsInTimeAndSaysWhy() async throws {
        try await withFolder { folder in
            let server = try await ServerProcess.start(folder: folder)
            let store = try await Store.open(
                StoreConfiguration(schema: try Fixture.schema(), sync: sync(server.url())))
            try await store.connected(timeout: waitMax)
            try await server.kill()
            let receipt = try await insert(1, into: store)
            let session = try #require(store.session)
            for await change in session.changes where change.new.activity == .offline { break }
            let timeout = Duration.milliseconds(300)
            let waits: [(name: String, wait: @Sendable () async throws -> Void)] = [
                ("connected", { try await store.connected(timeout: timeout) }),
                ("uploaded", { try await store.uploaded(timeout: timeout) }),
                ("one write", { try await store.uploaded(receipt, timeout: timeout) }),
                ("synced", { _ = try await store.records("Entry").synced(timeout: timeout) }),
                ("status", { _ = try await store.serverStatus(timeout: timeout) }),
                ("message", { _ = try await session.send("", to: "t", timeout: timeout) }),
                (
                    "changes",
                    {
                        for try await change in try store.records("Entry").changes(timeout: timeout) {
                            #expect(change.state != .complete)
                        }
                    }
                ),
            ]
            for (name, wait) in waits {
                let start = ContinuousClock.now
                do {
                    try await wait()
                    Issue.record("\(name) returned without a server")
                } catch let error as SyncError {
                    #expect([.timedOut, .unreachable].contains(error.code), "\(name): \(error.code)")
                    #expect(error.message.contains("127.0.0.1") || error.code == .unreachable, "\(name): \(error)")
                }
                #expect(ContinuousClock.now - start < .seconds(60), "\(name)")
            }
            await store.close()
        }
    }

    @Test func twoThousandObserversComeBackAfterTheirServerDoes() async throws {
        try await withFolder { folder in
            let port = try UnusedPort.next()
            var server = try await ServerProcess.start(folder: folder, port: port)
            let store = try await Store.open(
                StoreConfiguration(schema: try Fixture.schema(), sync: sync(server.url())))
            for number in 0..<20 { _ = try await insert(number, into: store) }
            try await store.uploaded(timeout: waitMax)
            let states = Mutex<[Int: SubscriptionState]>([:])
            let tokens = try (0..<2_000).map { number in
                try store.records("Entry WHERE number == \(number % 20) AND writer < \(number + 1)").observe { change in
                    states.withLock { $0[number] = change.state }
                }
            }
            let session = try #require(store.session)
            func complete() async throws {
                var last: SyncProgress?
                for await progress in session.progress(of: .download, .outstanding) {
                    #expect(progress.estimate >= last?.estimate ?? 0)
                    last = progress
                }
                #expect(last?.isComplete == true)
                try await wait(for: "every observer") {
                    states.withLock { $0.values.count { $0 == .complete } } == 2_000
                }
            }
            try await complete()
            try await server.kill()
            for await change in session.changes where change.new.connection == .disconnected { break }
            server = try await ServerProcess.start(folder: folder, port: port)
            for await change in session.changes where change.new.activity == .idle { break }
            try await complete()
            for token in tokens { token.stop() }
            await store.close()
            try await server.kill()
        }
    }

    @Test func aStoreIsSentOnFromTheOldAddressOfAServer() async throws {
        try await withServer { new in
            try await withServer(options: ["--hand-over-to=\(new.address)"]) { old in
                let store = try await Store.open(
                    StoreConfiguration(schema: try Fixture.schema(), sync: sync(old.url())))
                _ = try await insert(1, into: store)
                try await store.uploaded(timeout: waitMax)
                let reader = try await Store.open(
                    StoreConfiguration(schema: try Fixture.schema(), sync: sync(new.url())))
                #expect(try await reader.found("Entry").count == 1)
                await store.close()
                await reader.close()
            }
        }
    }
}
