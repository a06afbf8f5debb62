#if PostgreSQL

import Foundation
import Glibc
import SluiceStorage
import Synchronization
import TestSupport
import Testing

@testable import Sluice

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

    @Test(arguments: [false, true])
    func `the unacknowledged writes of a client that moves to a node that lags count once`(isCutOff: Bool)
        async throws
    {
        try await NodeCluster.with(2) { cluster in
            let (first, second) = (cluster.nodes[0], cluster.nodes[1])
            let way = try Proxy(to: first.port)
            defer { way.stop() }
            try await Ledger.begin(first.url())
            let writer = try await LedgerWriter(
                0, ["ws://127.0.0.1:\(way.port)/\(NodeCluster.databaseName)", second.url()])
            try await writer.writeOne()
            let client = try #require(writer.store.core.storage.syncState?.clientID)
            // The second node has the database open, and hears nothing of what follows.
            #expect(try await Ledger.content(second.url()).count == 1)
            second.proxy.mode = .holds
            // A node that has asked for something meanwhile has given its connections up, and gets no others.
            if isCutOff { second.proxy.cut() }
            let known = try cluster.lastPosition()
            way.mode = .dropsReplies
            for _ in 0..<3 { try await writer.writeLocally() }
            try await wait(for: "the first node to have it") {
                try await Set(Ledger.content(first.url()).names) == writer.names
            }
            way.mode = .refuses
            way.cut()
            #expect(try cluster.lastPosition() > known)
            // The client's visit there is appended behind what the node has, and the journal has more; or it cannot be
            // appended, and waits.
            try await wait(for: "the client to come to the second node") {
                second.proxy.hasHeldAppend || second.isSilenced
            }
            #expect(writer.acknowledged == 1)
            second.proxy.mode = .forwards
            try await writer.acknowledge()
            #expect(writer.store.core.storage.syncState?.clientID == client)
            try await cluster.checkAgreement([writer])
        }
    }

    @Test func `copies of a client's file at two nodes become two clients, and both go on`() async throws {
        try await NodeCluster.with(2) { cluster in
            try await Ledger.begin(cluster.nodes[0].url())
            let (paths, urls) = (cluster.nodes.map { $0.folder + "-client" }, cluster.nodes.map { $0.url() })
            func write(_ name: String, to store: Store) async throws {
                let entry = try Record(Ledger.entry.get(), ["name": .string(name), "writer": .int(0)])
                try await store.write { try $0.upsert(entry) }
            }
            let original = try await Ledger.store([cluster.nodes[0].url()], path: paths[0])
            try await write("before", to: original)
            try await original.uploaded(timeout: waitMax)
            let client = try #require(original.core.storage.syncState?.clientID)
            cluster.nodes[0].signal(SIGSTOP)
            try await write("pending", to: original)
            await original.close()
            cluster.nodes[0].signal(SIGCONT)
            try FileManager.default.copyItem(atPath: paths[0], toPath: paths[1])
            // Both come within one round trip.
            async let first = Ledger.store([urls[0]], path: paths[0])
            async let second = Ledger.store([urls[1]], path: paths[1])
            let stores = try await [first, second]
            for (number, store) in stores.enumerated() { try await write("of \(number)", to: store) }
            for store in stores { try await store.uploaded(timeout: waitMax) }
            let clients = stores.compactMap { $0.core.storage.syncState?.clientID }
            #expect(clients.count == 2 && Set(clients).count == 2 && clients.contains(client), "\(clients)")
            for store in stores { await store.close() }
            for node in cluster.nodes {
                #expect(try await Ledger.content(node.url()).names.sorted() == ["before", "of 0", "of 1", "pending"])
            }
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

#endif
