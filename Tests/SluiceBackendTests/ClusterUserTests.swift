import Sluice
import SluiceModel
import SluiceServer
import SluiceTesting
import Synchronization
import TestSupport
import Testing

/// Users and ephemeral messages of a cluster, and sessions that a store has left without a word.
struct ClusterUserTests {
    private static let rules = """
        {"database": {"messages": "$user.id != 'eve'"}, "classes": {"Flight": {"read": true}}}
        """

    /// The nodes' servers as they start, and what the nodes log.
    private final class Nodes: Sendable {
        let servers = Mutex<[SyncServer]>([])
        let lines = Mutex<[String]>([])

        func logged(_ words: String...) -> Bool {
            lines.withLock { $0.contains { line in words.allSatisfy { line.contains($0) } } }
        }
    }

    private final class Heard: Sendable {
        let messages = Mutex<[SessionMessage]>([])
        var texts: [String] { messages.withLock { $0.map(\.text) } }
    }

    private let nodes = Nodes()

    private func cluster(rules: String? = Self.rules) throws -> TestCluster {
        let log = LogSink(level: .info) { [nodes] line in nodes.lines.withLock { $0.append(line.description) } }
        return try TestCluster(nodes: 3, rules: rules, log: log) { [nodes] server in
            nodes.servers.withLock { $0.append(server) }
        }
    }

    private func listen(_ store: Store, to topic: String = "room") throws -> (Heard, HandlerToken) {
        let heard = Heard()
        let session = try #require(store.session)
        return (heard, session.observeMessages(to: topic) { message in heard.messages.withLock { $0.append(message) } })
    }

    @Test func `who is revoked at one node has no session at the others`() async throws {
        let cluster = try cluster()
        let stores = [
            try await cluster.open(models, on: 1, user: "ada"), try await cluster.open(models, on: 2, user: "ada"),
            try await cluster.open(models, on: 3, user: "ben"),
        ]
        for store in stores { try await store.connected() }
        try await cluster.settled()
        try nodes.servers.withLock { $0[0] }.revoke(user: "ada")
        try await cluster.settled()
        #expect(nodes.lines.withLock { $0.count { $0.contains("a session ended") && $0.contains("user: ada") } } == 2)
        #expect(stores.map { $0.session?.status.state } == [.needsCredentials, .needsCredentials, .active])
        #expect((1...3).map { cluster[$0].connectionCount } == [0, 0, 1])
    }

    @Test func `a node that is cut off lets nobody in whom it cannot check, and hears what it missed`() async throws {
        let cluster = try cluster()
        let inside = try await cluster.open(models, on: 2, user: "ada") { $0.sync?.urls.removeLast(2) }
        try await inside.connected()
        cluster.cut(2)
        try nodes.servers.withLock { $0[0] }.revoke(user: "ada")
        try await cluster.settled()
        // Nobody knows there, so the session goes on.
        #expect(!nodes.logged("a session ended", "user: ada"))
        let outside = try await cluster.open(models, on: 2, user: "ben") { $0.sync?.urls.removeLast(2) }
        try await cluster.settled()
        #expect(nodes.logged("a login was refused", "cannot check logins at the moment"))
        #expect(outside.session?.status.state != .needsCredentials)
        cluster.mend(2)
        try await cluster.settled()
        #expect(nodes.logged("a session ended", "user: ada") && nodes.logged("closing a connection", "revoked"))
        try await cluster.advance(by: .seconds(60))
        try await outside.connected()
    }

    @Test func `messages reach the listeners at all nodes in order, as far as each may hear them`() async throws {
        let cluster = try cluster()
        var stores: [Store] = []
        for (number, user) in ["ada", "ben", "eve", "cy"].enumerated() {
            stores.append(try await cluster.open(models, on: number % 3 + 1, user: user))
        }
        let listeners = try stores.map { try listen($0) }
        for store in stores { try await store.connected() }
        try await cluster.settled()
        let sender = try #require(stores[0].session)
        // Of the listeners at the sender's node there is one beside it.
        for number in 0..<20 { #expect(try await sender.send("\(number)", to: "room") == 1) }
        #expect(try await sender.send("elsewhere", to: "another room") == 0)
        try await cluster.settled()
        let all = (0..<20).map(String.init)
        #expect(listeners.map(\.0.texts) == [[], all, [], all])
        #expect(listeners[1].0.messages.withLock { $0.map(\.userID) } == Array(repeating: "ada", count: 20))
        // Back again, and to one that has moved.
        cluster.route(stores[3], to: 3)
        try await cluster.settled()
        #expect(try await #require(stores[1].session).send("back", to: "room") == 0)
        try await cluster.settled()
        #expect(listeners.map(\.0.texts.last) == ["back", "19", nil, "back"])
        for (_, token) in listeners { token.stop() }
    }

    @Test func `messages of a node that is cut off stay there, and come again afterwards`() async throws {
        let cluster = try cluster(rules: nil)
        let here = try await cluster.open(models, on: 1)
        let there = try await cluster.open(models, on: 2)
        let (heard, token) = try listen(there)
        for store in [here, there] { try await store.connected() }
        try await cluster.settled()
        let session = try #require(here.session)
        for (number, isCut) in [false, true, false].enumerated() {
            if isCut { cluster.cut(1) } else { cluster.mend(1) }
            #expect(try await session.send("\(number)", to: "room") == 0)
            try await cluster.settled()
        }
        #expect(heard.texts == ["0", "2"])
        token.stop()
    }

    @Test func `the half-open session of a store that has gone to another node ends`() async throws {
        let cluster = try cluster(rules: nil)
        let store = try await cluster.open(models, on: 1)
        try await store.write { try $0.insert(Flight(id: "UA1")) }
        try await store.uploaded()
        try await cluster.settled()
        cluster.route(store, to: 2, leavingHalfOpen: true)
        try await cluster.settled()
        #expect(nodes.logged("a session ended", "the client has opened another session"))
        #expect(cluster[1].connectionCount == 1 && cluster[2].connectionCount == 1)
        try await store.write { try $0.insert(Flight(id: "UA2")) }
        try await store.uploaded()
        let other = try await cluster.open(models, on: 3)
        #expect(try await other.objects(Flight.self).synced().count == 2)
    }
}
