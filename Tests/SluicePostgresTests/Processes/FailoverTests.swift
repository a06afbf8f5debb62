#if PostgreSQL

import Foundation
import Glibc
import Sluice
import TestSupport
import Testing

@testable import SluicePostgres

/// Other servers in the place of the PostgreSQL of a cluster: a standby that has all of it, one that lacks some, and a
/// copy of yesterday.
struct FailoverTests {
    /// Leads all nodes to another server.
    private func lead(_ cluster: NodeCluster, to server: PostgresServer) -> NodeCluster {
        for node in cluster.nodes { node.proxy.lead(to: server.port) }
        return NodeCluster(database: server.sameDatabase(as: cluster.database), nodes: cluster.nodes)
    }

    @Test func `a synchronous standby takes over, and no client starts over`() async throws {
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
                moved = lead(cluster, to: standby)
                try await writers.getOn()
            }
            try await moved.checkAgreement(writers)
            let found = try moved.database.connect().execute(
                PostgresStatement(nil, "SELECT history FROM sluice.database WHERE name = 'test'"))
            #expect(found.text(0).split(separator: "/").dropFirst().first == "00000002", "\(found.text(0))")
        }
        try await standby.stop()
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
            try await primary.kill()
            wire.stop()
            try await standby.promote()
            let moved = lead(cluster, to: standby)
            for (number, writer) in writers.enumerated() { try await writer.store.addMark(number) }
            try await checkThatAllShowTheSame(moved, writers, keeping: kept)
            #expect(writers.allSatisfy { $0.resetCount > 0 })
        }
        try await standby.stop()
    }

    @Test func `yesterday's dump is put back, and all agree`() async throws {
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
            for node in cluster.nodes { try await node.kill() }
            try await server.restore(cluster.database, from: dump)
            for node in cluster.nodes { try await node.start() }
            // A dump has no history of its own: its administrator says that it is the right one.
            let epoch = try await Tool.run("cluster", "epoch", "--journal=\(cluster.database.url)")
            #expect(epoch.code == 0 && epoch.lines == ["an epoch begins in 1 databases"], "\(epoch)")
            for (number, writer) in writers.enumerated() { try await writer.store.addMark(number) }
            try await checkThatAllShowTheSame(cluster, writers, keeping: kept)
        }
        try await server.stop()
    }

    /// Checks that every store and node has the same, that this has all that was kept, and nothing by half or twice.
    private func checkThatAllShowTheSame(
        _ cluster: NodeCluster, _ writers: [LedgerWriter], keeping kept: Set<String>
    ) async throws {
        for writer in writers { try await writer.store.uploaded(timeout: waitMax) }
        // A node that no writer has gone back to opens the database for whoever asks.
        for node in cluster.nodes { _ = try await Ledger.content(node.url()) }
        try await cluster.waitForOneHead()
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

extension Store {
    /// Writes something, so that the next group has to be appended.
    fileprivate func addMark(_ number: Int) async throws {
        let mark = try Record(Ledger.entry.get(), ["name": .string("mark/\(number)"), "writer": .int(Int64(number))])
        try await write { transaction in
            try transaction.insert(mark)
            try transaction.update(Identity(className: "Counter", key: .string("all")), add: ["value": .int(1)])
        }
    }
}

#endif
