import Glibc
import Sluice
import TestSupport
import Testing

/// A server that is connected and does nothing: the settings of a store say when the store notices that.
struct StandstillTests {
    /// Opens a store, and waits until its log gives a reason for a lost connection that contains these words.
    private func expectLoss(
        _ server: ServerProcess, saying words: String, _ configure: (inout SyncConfiguration) -> Void,
        whenOpen: (Store) async throws -> Void = { _ in }
    ) async throws {
        let (reasons, found) = AsyncStream.makeStream(of: String.self)
        var sync = SyncConfiguration(url: server.url())
        configure(&sync)
        var configuration = StoreConfiguration(sync: sync)
        configuration.log = LogSink(level: .info) { line in
            for (name, value) in line.metadata where name == "reason" { found.yield(value) }
        }
        let store = try await Store.open(configuration)
        try await whenOpen(store)
        for await reason in reasons where reason.contains(words) { break }
        await store.close()
    }

    @Test(.timeLimit(.minutes(5))) func theHeartbeatNoticesAServerThatStopsAnswering() async throws {
        try await withServer { server in
            try await expectLoss(server, saying: "after a ping", { $0.heartbeat = .milliseconds(50) }) { store in
                try await store.connected(timeout: waitMax)
                server.process.signal(SIGSTOP)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func theConnectTimeoutEndsAnAttemptThatNobodyAnswers() async throws {
        try await withServer { server in
            server.process.signal(SIGSTOP)
            try await expectLoss(server, saying: "was not done within", { $0.connectTimeout = .milliseconds(50) })
        }
    }
}
