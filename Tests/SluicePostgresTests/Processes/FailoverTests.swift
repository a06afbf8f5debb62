#if PostgreSQL

import Foundation
import Glibc
import Sluice
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

/// Other servers in the place of the PostgreSQL of a cluster: a standby that has all of it, one that lacks some, and a
/// copy of yesterday.
struct FailoverTests {
    @Test func `a synchronous standby takes over, no client starts over, and the old primary is refused`()
        async throws
    {
        let primary = try await PostgresServer()
        let standby = try await PostgresServer(standbyOf: primary, at: primary.port)
        try await primary.waitForStandby()
        try await NodeCluster.with(on: primary) { cluster in
            let writers = try await cluster.writers()
            var moved = cluster
            try await writers.whileWriting {
                try await writers.getOn()
                try await primary.kill()
                try await standby.promote()
                moved = cluster.led(to: standby)
                try await writers.getOn()
                // The old primary comes back, and a node reaches it.
                try await primary.start()
                let misled = cluster.nodes[0]
                try await misled.logged("the journal's server is connected", "/00000002/")
                misled.proxy.lead(to: primary.port)
                try await misled.logged("the journal's server does not answer", "is an old primary")
                // Who asks it how the cluster is, is told.
                let (journal, place) = ("--journal=\(cluster.database.url)", "127.0.0.1:\(primary.port)")
                let said = try await Tool.run("cluster", "status", journal)
                let first = try #require(said.lines.first)
                let complaint =
                    "warning: \(place) is an old primary: it is on timeline 1, and nodes that "
                    + "have seen timeline 2 refuse it (a)"
                #expect(first.hasPrefix(complaint) && first.contains("sluice cluster epoch"), "\(said)")
                let json = try await Tool.run("cluster", "status", journal, "--format=json")
                let status = try JSONDecoder().decode(
                    ClusterStatus.self, from: Data(json.lines.joined(separator: "\n").utf8))
                #expect(status.warnings.count == 1, "\(json.lines)")
                #expect(try PostgresCluster.status(moved.database.url).warnings.isEmpty)
                try await Array(writers[1...]).getOn()
                misled.proxy.lead(to: standby.port)
                try await writers.getOn()
            }
            for node in cluster.nodes {
                #expect(
                    !FileManager.default.fileExists(atPath: node.replica() + "-foreign"),
                    "\(node.name) had what the standby lacks")
            }
            try await moved.checkAgreement(writers)
            let found = try moved.database.connect().execute(
                PostgresStatement(nil, "SELECT history FROM sluice.database WHERE name = 'test'"))
            #expect(found.text(0).split(separator: "/").dropFirst().first == "00000002", "\(found.text(0))")
            let newest = try cluster.database.number("SELECT max(position) FROM sluice.journal")
            #expect(try moved.database.number("SELECT max(position) FROM sluice.journal") > newest)
        }
        for server in [primary, standby] { try await server.stop() }
    }

    @Test func `an old primary is left out where the address names it before the new one`() async throws {
        let primary = try await PostgresServer()
        let database = try primary.database()
        _ = try database.node().journal(ofDatabase: "planes")
        let standby = try await PostgresServer(standbyOf: primary, at: primary.port)
        let both = "postgres://sluice@127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)/\(database.name)"
        let met = try PostgresJournals(url: both, node: "met") { $0.reconnectMax = .milliseconds(1) }
        _ = try met.journal(ofDatabase: "planes", isMade: false)
        try await primary.kill()
        try await standby.promote()
        try await wait(for: "the node to go on") {
            (try? met.journal(ofDatabase: "planes", isMade: false)) != nil && met.history?.timeline == 2
        }
        try await primary.start()
        try standby.sameDatabase(as: database).killBackends()
        try await wait(for: "the node to be there again") {
            (try? met.journal(ofDatabase: "planes", isMade: false)) != nil
        }
        #expect(met.history?.timeline == 2)
        // Also by who has met neither.
        let stranger = try PostgresJournals(url: both, node: "stranger")
        _ = try stranger.journal(ofDatabase: "planes", isMade: false)
        #expect(stranger.history?.timeline == 2)
        let status = try PostgresCluster.status(both)
        #expect(status.history.contains("/00000002/"))
        let (old, new) = ("127.0.0.1:\(primary.port)", "127.0.0.1:\(standby.port)")
        let warning = "\(old) is an old primary: it is on timeline 1, and \(new) is on timeline 2"
        #expect(status.warnings.count == 1 && status.warnings[0].hasPrefix(warning), "\(status.warnings)")
        #expect(status.text.hasPrefix("warning: \(warning)"))
        // Which of them is the right one, an administrator has to say.
        let undecided = #expect(throws: StorageError.self) { try PostgresCluster.beginEpoch(both) }
        #expect(undecided?.code == .journal)
        let places = "\(old) on timeline 1, \(new) on timeline 2"
        #expect(undecided?.message.contains("several servers that take writes (\(places)); name the one") == true)
        // While the new one is away, the journal is silent, and has no other history.
        try await standby.kill()
        try await wait(for: "the node to say why") {
            do {
                _ = try met.journal(ofDatabase: "planes", isMade: false)
                return false
            } catch let error as StorageError {
                #expect(error.code == .busy, "\(error)")
                return error.message.contains("names \(old), which is an old primary")
            }
        }
        for node in [met, stranger] { node.stop() }
        try await primary.stop()
        try await standby.discard()
    }

    @Test func `a failover to a synchronous standby costs each client one reconnect`() async throws {
        let primary = try await PostgresServer()
        let standby = try await PostgresServer(standbyOf: primary, at: primary.port)
        try await primary.waitForStandby()
        try await NodeCluster.with(2, on: primary) { cluster in
            try await Ledger.begin(cluster.nodes[0].url())
            let clients = try await cluster.nodes.indices.asyncMap { try await CountingClient(cluster.urls(from: $0)) }
            for client in clients { try await client.write() }
            #expect(clients.allSatisfy { $0.openingCount == 1 })
            try await primary.kill()
            try await standby.promote()
            let moved = cluster.led(to: standby)
            // The first group begins the epoch, at which all sessions end once.
            try await clients[0].write()
            for client in clients { try await wait(for: "a client to come again") { client.openingCount == 2 } }
            for client in clients { try await client.write() }
            try await moved.compare()
            for client in clients {
                #expect(client.openingCount == 2 && client.resetCount == 0)
                await client.store.close()
            }
        }
        try await standby.stop()
        try await primary.discard()
    }

    @Test func `who has seen what an asynchronous standby lacks starts over, and all agree`() async throws {
        let primary = try await PostgresServer()
        let wire = try Proxy(to: primary.port)
        let standby = try await PostgresServer(standbyOf: primary, at: wire.port)
        try await NodeCluster.with(on: primary) { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting { try await writers.getOn() }
            let kept = writers.names
            for writer in writers { try await writer.shows(kept) }
            let position = "SELECT max(position) FROM sluice.journal"
            let known = try cluster.database.number(position)
            try await wait(for: "the standby to have it all") {
                try await standby.read(position, in: cluster.database.name) == "\(known)"
            }
            // From here on the standby gets nothing.
            wire.mode = .holds
            try await writers.whileWriting { try await writers.getOn() }
            for writer in writers { try await writer.shows(writers.names) }
            let unsent = try await writers[1].writeUnsent(cluster)
            try await primary.kill()
            wire.stop()
            try await standby.promote()
            let moved = cluster.led(to: standby)
            for node in cluster.nodes { node.signal(SIGCONT) }
            try await checkThatAllStartOver(moved, writers, keeping: kept.union([unsent]))
        }
        try await standby.stop()
        try await primary.discard()
    }

    @Test(arguments: [false, true]) func `yesterday's dump is put back, and all agree`(nodesRun: Bool) async throws {
        let server = try await PostgresServer()
        try await NodeCluster.with(2, on: server) { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting { try await writers.getOn() }
            let kept = writers.names
            let dump = "/tmp/sluice-dump-" + UUID().uuidString
            defer { try? FileManager.default.removeItem(atPath: dump) }
            try await server.dump(cluster.database, to: dump)
            try await writers.whileWriting { try await writers.getOn() }
            for writer in writers { try await writer.shows(writers.names) }
            let unsent = try await writers[1].writeUnsent(cluster)
            if !nodesRun { for node in cluster.nodes { try await node.kill() } }
            try await server.restore(cluster.database, from: dump)
            for node in cluster.nodes { if nodesRun { node.signal(SIGCONT) } else { try await node.start() } }
            try await checkThatAllStartOver(cluster, writers, keeping: kept.union([unsent]))
        }
        try await server.stop()
    }

    /// Checks that the clients, all of which have seen what was lost, start over, also those that only read; that every
    /// store and node has the same; that this has all that was kept, and nothing by half or twice.
    private func checkThatAllStartOver(
        _ cluster: NodeCluster, _ writers: [LedgerWriter], keeping kept: Set<String>
    ) async throws {
        // The epoch begins with the next group; one of the clients writes.
        try await writers[0].store.addMark()
        try await writers[0].store.uploaded(timeout: waitMax)
        for writer in writers {
            try await wait(for: "all to start over") { writer.resetCount > 0 }
            try await writer.store.uploaded(timeout: waitMax)
        }
        // A node that no client has gone back to opens the database for whoever asks.
        for node in cluster.nodes { _ = try await Ledger.content(node.url()) }
        try await cluster.compare()
        // Each node had what was lost, and has put it aside.
        for node in cluster.nodes {
            #expect(FileManager.default.fileExists(atPath: node.replica() + "-foreign"), "\(node.name)")
        }
        let (names, count) = try await Ledger.content(cluster.nodes[0].url())
        #expect(names.count == Set(names).count && Set(names).isSuperset(of: kept))
        #expect(count == Int64(names.count), "a transaction is there by half, or twice")
        for writer in writers { try await writer.shows(Set(names)) }
        for node in cluster.nodes {
            let (own, ownCount) = try await Ledger.content(node.url())
            #expect(Set(own) == Set(names) && ownCount == count, "\(node.name)")
        }
        for writer in writers { await writer.store.close() }
    }
}

extension LedgerWriter {
    /// Writes something that no node gets: all stand still.
    ///
    /// - Returns: the name of the entry.
    fileprivate func writeUnsent(_ cluster: NodeCluster) async throws -> String {
        for node in cluster.nodes { node.signal(SIGSTOP) }
        let known = names
        try await writeLocally()
        return try #require(names.subtracting(known).first)
    }
}

extension Store {
    /// Writes something, so that the next group has to be appended.
    fileprivate func addMark() async throws {
        let mark = try Record(Ledger.entry.get(), ["name": .string("mark"), "writer": .int(0)])
        try await wait(for: "the counter to be there") {
            do {
                try await write { transaction in
                    try transaction.insert(mark)
                    try transaction.update(
                        Identity(className: "Counter", key: .string("all")), add: ["value": .int(1)])
                }
                return true
            } catch let error as StoreError where error.code == .objectMissing {
                // A store that starts over lacks it until the server has sent it again.
                return false
            }
        }
    }
}

#endif
