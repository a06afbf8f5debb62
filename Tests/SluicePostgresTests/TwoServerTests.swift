#if PostgreSQL

import Sluice
import SluiceBackend
import SluiceModel
import SluiceServer
import Synchronization
import TestSupport
import Testing

@testable import SluicePostgres

/// A departure that two servers judge.
@Model struct JudgedDeparture {
    @PrimaryKey var id: String
    var delay = 0
}

/// Servers of this process on one PostgreSQL: what is decided, said and counted at each.
struct TwoServerTests {
    /// What a server has judged, in order.
    private final class Judged: Sendable { let ids = Mutex<[String]>([]) }

    private struct Node {
        let server: SyncServer
        let url: String
        let proxy: Proxy
        let judged = Judged()

        init(_ name: String, _ database: TestDatabase) throws {
            proxy = try Proxy(to: database.port)
            var configuration = ServerConfiguration(port: 0, isDevelopment: true)
            configuration.journals = try database.node(name, port: proxy.port)
            server = try SyncServer(configuration)
            url = "ws://127.0.0.1:\(try server.start())/departures"
        }

        func stop() async {
            await server.stop()
            proxy.stop()
        }
    }

    private func open(_ url: String) async throws -> Store {
        let sync = SyncConfiguration(url: url)
        return try await Store.open(StoreConfiguration(models: [JudgedDeparture.self], sync: sync))
    }

    private func nodes() async throws -> [Node] {
        let database = try await PostgresServer.shared.value.database()
        return try ["first", "second"].map { try Node($0, database) }
    }

    @Test func `the node that commits a write judges it, and again if another was first`() async throws {
        let nodes = try await nodes()
        for node in nodes {
            node.server.onWrite(to: JudgedDeparture.self) { [judged = node.judged] write in
                judged.ids.withLock { $0.append(write.new?.id ?? "") }
                return try write.amended { $0.delay += 1 }
            }
        }
        // One after the other: a node that was overtaken appends its next groups in turns, in which nothing overtakes it.
        var stores: [Store] = []
        for (number, node) in nodes.enumerated() {
            stores.append(try await open(node.url))
            try await stores[number].write { try $0.insert(JudgedDeparture(id: "known at \(number)")) }
            try await stores[number].uploaded(timeout: waitMax)
        }
        // Either may have been overtaken by a group of the other, one that says that a client came at least.
        #expect(Set(nodes[0].judged.ids.withLock { $0 }) == ["known at 0"])
        #expect(Set(nodes[1].judged.ids.withLock { $0 }) == ["known at 1"])
        // A group of the first node arrives after one of the second.
        nodes[0].proxy.stop(at: .append)
        try await stores[0].write { try $0.insert(JudgedDeparture(id: "late")) }
        try await nodes[0].proxy.waitForPlace()
        try await stores[1].write { try $0.insert(JudgedDeparture(id: "early")) }
        try await stores[1].uploaded(timeout: waitMax)
        nodes[0].proxy.mode = .forwards
        try await stores[0].uploaded(timeout: waitMax)
        #expect(nodes[0].judged.ids.withLock { $0.count { $0 == "late" } } >= 2)
        #expect(Set(nodes[1].judged.ids.withLock { $0 }) == ["known at 1", "early"])
        // What it amends counts once, everywhere.
        for store in stores {
            var found: [JudgedDeparture] = []
            try await wait(for: "what both have written") {
                found = try await store.objects(JudgedDeparture.self).synced(timeout: waitMax)
                return found.count == 4
            }
            #expect(found.allSatisfy { $0.delay == 1 })
        }
        for store in stores { await store.close() }
        for node in nodes { await node.stop() }
    }

    @Test func `a resolver decides where the later write is committed, and all stores have the result`() async throws {
        let nodes = try await nodes()
        for node in nodes { node.server.resolveConflicts(of: JudgedDeparture.self, by: .serverWins) }
        var stores = [try await open(nodes[0].url)]
        try await stores[0].write { try $0.insert(JudgedDeparture(id: "a")) }
        try await stores[0].uploaded(timeout: waitMax)
        stores.append(try await open(nodes[1].url))
        for store in stores {
            try await wait(for: "the departure") {
                try await store.objects(JudgedDeparture.self).synced(timeout: waitMax).count == 1
            }
        }
        // Neither knows of the other: the group of the first node is held.
        nodes[0].proxy.stop(at: .append)
        for (number, store) in stores.enumerated() {
            try await store.write { transaction in
                guard let departure = try transaction.object(JudgedDeparture.self, key: "a") else { return }
                try transaction.update(departure) { $0.delay = number + 1 }
            }
            if number == 0 { try await nodes[0].proxy.waitForPlace() }
        }
        try await stores[1].uploaded(timeout: waitMax)
        nodes[0].proxy.mode = .forwards
        try await stores[0].uploaded(timeout: waitMax)
        for store in stores {
            try await wait(for: "the later write") {
                try await store.objects(JudgedDeparture.self).synced(timeout: waitMax).map(\.delay) == [2]
            }
        }
        for store in stores { await store.close() }
        for node in nodes { await node.stop() }
    }

    @Test func `what a node says of itself alone has its name`() async throws {
        let nodes = try await nodes()
        for (node, name) in zip(nodes, ["first", "second"]) {
            let store = try await open(node.url)
            let token = try store.objects(JudgedDeparture.self).observe { _ in }
            _ = try await store.objects(JudgedDeparture.self).synced(timeout: waitMax)
            #expect(try await store.serverStatus().node == name)
            #expect(try await store.serverSubscriptions().allSatisfy { $0.node == name })
            token.stop()
            await store.close()
        }
        for node in nodes { await node.stop() }
    }

    @Test func `a program names its journal by an address`() async throws {
        let database = try await PostgresServer.shared.value.database()
        var configuration = ServerConfiguration(port: 0, isDevelopment: true)
        configuration.journal = try .postgres(database.url)
        #expect(configuration.journal != nil)
        let server = try SyncServer(configuration)
        let departures = try await server.database("departures", models: [JudgedDeparture.self])
        try await departures.write { try $0.insert(JudgedDeparture(id: "a")) }
        #expect(try database.number("SELECT count(*) FROM sluice.journal WHERE position > 0") > 0)
        await server.stop()
    }
}

#endif
