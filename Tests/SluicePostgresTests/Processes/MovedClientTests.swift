#if PostgreSQL

import Sluice
import Synchronization
import TestSupport
import Testing

/// Clients at different nodes, and one that leaves its node without a word.
struct MovedClientTests {
    @Test func `a node ends the half-open session of a client that has gone to another`() async throws {
        try await NodeCluster.with(2) { cluster in
            let (first, second) = (cluster.nodes[0], cluster.nodes[1])
            let way = try Proxy(to: first.clientPort)
            defer { way.stop() }
            try await Ledger.begin(first.url())
            let writer = try await LedgerWriter(
                0, ["ws://127.0.0.1:\(way.port)/\(NodeCluster.databaseName)", second.url()])
            try await writer.writeOne()
            way.mode = .vanishes
            // The store notices that nobody answers, and goes on elsewhere. Its first node hears nothing of that.
            try await writer.writeOne()
            try await first.logged("a session ended", "the client has opened another session")
            try await writer.writeOne()
            #expect(writer.resetCount == 0)
            await writer.store.close()
            for node in cluster.nodes { #expect(try await Ledger.content(node.url()).count == 3) }
            way.mode = .forwards
        }
    }

    @Test func `a message reaches the listeners at other nodes, and is counted where it was sent`() async throws {
        try await NodeCluster.with { cluster in
            let stores = try await [0, 1, 2, 0].asyncMap { try await Ledger.store([cluster.nodes[$0].url()]) }
            let heard = stores.map { _ in Heard() }
            let tokens = try zip(stores, heard).map { store, heard in
                let session = try #require(store.session)
                return session.observeMessages(to: "room") { message in heard.texts.withLock { $0.append(message.text) }
                }
            }
            for store in stores { try await store.connected(timeout: waitMax) }
            // A listener is told of nothing before its node knows of it, so the first message is sent until all have it.
            let prober = try #require(stores[3].session)
            try await wait(for: "all to listen") {
                _ = try? await prober.send("first", to: "room")
                return heard[..<3].allSatisfy { $0.texts.withLock { !$0.isEmpty } }
            }
            let sender = try #require(stores[0].session)
            let texts = (0..<50).map { "message \($0)" }
            // There is one more listener at its node.
            for text in texts { #expect(try await sender.send(text, to: "room") == 1) }
            for listener in heard[1...] {
                try await wait(for: "all messages") { listener.texts.withLock { $0.last == texts.last } }
                #expect(listener.texts.withLock { $0.filter { $0 != "first" } } == texts)
            }
            #expect(heard[0].texts.withLock { $0.allSatisfy { $0 == "first" } })
            for token in tokens { token.stop() }
            for store in stores { await store.close() }
        }
    }

    private final class Heard: Sendable { let texts = Mutex<[String]>([]) }
}

extension Array {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}

#endif
