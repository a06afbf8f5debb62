#if PostgreSQL

import Foundation
import Sluice
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

/// Some nodes of one cluster, as processes that share a database, each through a proxy of its own.
struct NodeCluster {
    static let databaseName = "test"

    /// How often something is killed: so often, or as SLUICE_KILLS says.
    static func kills(_ count: Int) -> Range<Int> {
        0..<(ProcessInfo.processInfo.environment["SLUICE_KILLS"].flatMap { Int($0) } ?? count)
    }

    let database: TestDatabase
    let nodes: [NodeProcess]

    /// Runs `body` with nodes that run, and ends them.
    ///
    /// - Parameters:
    ///   - server: their PostgreSQL; nil for that of all tests.
    ///   - options: what their servers are told; nil for ones that are for development.
    ///   - haveURLs: whether each says where clients reach it.
    ///   - environment: what their processes have in their environments.
    static func with(
        _ count: Int = 3, on server: PostgresServer? = nil, options: [String]? = nil, haveURLs: Bool = false,
        environment: [String: String] = [:], _ body: (NodeCluster) async throws -> Void
    ) async throws {
        let server = if let server { server } else { try await PostgresServer.shared.value }
        let database = try server.database()
        try await withFolder { folder in
            let nodes = try (0..<count).map {
                try NodeProcess(["a", "b", "c", "d"][$0], in: folder, of: database, options: options)
            }
            for node in nodes { node.environment = environment }
            if haveURLs { for node in nodes { node.tellURL() } }
            let cluster = NodeCluster(database: database, nodes: nodes)
            try await cluster.whileRunning { try await body(cluster) }
        }
    }

    /// Starts the nodes, runs `body`, and ends them.
    func whileRunning(_ body: () async throws -> Void) async throws {
        do {
            for node in nodes { try await node.start() }
            try await body()
        } catch {
            for node in nodes { try await node.kill() }
            throw error
        }
        for node in nodes { try await node.kill() }
    }

    /// Leads all nodes to another server, which has the database.
    ///
    /// - Returns: the cluster as it is there.
    func led(to server: PostgresServer) -> NodeCluster {
        for node in nodes { node.proxy.lead(to: server.port) }
        return NodeCluster(database: server.sameDatabase(as: database), nodes: nodes)
    }

    /// The addresses of all nodes, that of one first.
    func urls(from position: Int) -> [String] {
        let urls = nodes.map { $0.url() }
        return Array(urls[position...] + urls[..<position])
    }

    /// Opens a writer for each node, which goes to the others if its own is gone.
    func writers() async throws -> [LedgerWriter] {
        try await Ledger.begin(nodes[0].url())
        var writers: [LedgerWriter] = []
        for position in nodes.indices { writers.append(try await LedgerWriter(position, urls(from: position))) }
        return writers
    }

    /// The last position of the journal.
    func lastPosition() throws -> Int64 { try database.number("SELECT max(position) FROM sluice.journal") }

    /// The node that has appended last, at which somebody writes.
    func lastAuthor() throws -> NodeProcess {
        let found = try database.connect().execute(
            PostgresStatement(
                nil,
                """
                SELECT node FROM sluice.journal WHERE database = (SELECT id FROM sluice.database WHERE name = 'test')
                ORDER BY position DESC LIMIT 1
                """))
        return try #require(nodes.first { $0.name == found.text(0) })
    }

    /// Checks that every node has what the writers have written, each once, that all have one history and one digest at
    /// one position, and that no client was sent back to the start. The nodes then end in order.
    func checkAgreement(_ writers: [LedgerWriter]) async throws {
        for writer in writers { try await writer.acknowledge() }
        let expected = writers.names
        for writer in writers {
            try await writer.shows(expected)
            #expect(writer.resetCount == 0)
            await writer.store.close()
        }
        for node in nodes {
            var (names, count): ([String], Int64?) = ([], nil)
            // A node that does not reach PostgreSQL yet answers by its replica.
            try await wait(for: "\(node.name) to have \(expected.count) transactions") {
                (names, count) = try await Ledger.content(node.url())
                return count.map { $0 >= expected.count } ?? false && expected.isSubset(of: names)
            }
            #expect(names.count == Set(names).count, "\(node.name) has something twice")
            #expect(Set(names) == expected, "\(node.name) lacks something, or has what nobody has written")
            #expect(count == Int64(expected.count), "\(node.name) has a transaction by half, or twice")
        }
        let position = try await compare()
        for node in nodes { try await node.stop() }
        let journal = try database.node("reader").open(Self.databaseName)
        for node in nodes {
            let storage = try SQLiteServerStorage.open(.file(node.replica()), databaseID: journal.databaseID)
            defer { storage.close() }
            #expect(storage.damage == nil)
            #expect(storage.head.position >= position)
            #expect(try journal.continues(storage.head), "\(node.name) has a history of its own")
        }
    }

    /// Has all nodes compare their replicas.
    ///
    /// - Returns: the position at which they did.
    @discardableResult
    func compare() async throws -> UInt64 {
        try await waitForOneHead()
        let url = database.url
        let comparison = try await blocking { try PostgresCluster.verify(url, database: Self.databaseName) }
        #expect(
            comparison.agrees && comparison.digests.keys.sorted() == nodes.map(\.name).sorted(), "\(comparison.text)")
        try await waitForOneHead()
        return comparison.position
    }

    /// Waits until all nodes are alive and say where they are reached, as `sluice cluster status` has it.
    func waitForURLs() async throws {
        try await wait(for: "all nodes to say where they are") {
            try PostgresCluster.status(database.url).nodes.count { $0.isAlive && $0.url != nil } == nodes.count
        }
    }

    /// Waits until no node lacks anything of the database, as `sluice cluster status` has it.
    func waitForOneHead() async throws {
        try await wait(for: "all nodes to be at one head") {
            let status = try PostgresCluster.status(database.url)
            guard let database = status.databases.first(where: { $0.name == Self.databaseName }) else { return false }
            return nodes.allSatisfy { node in
                status.nodes.contains { $0.name == node.name && $0.isAlive && status.lag(of: $0, in: database) == 0 }
            }
        }
    }
}

#endif
