#if PostgreSQL

import Glibc
import TestSupport
import Testing

@testable import SluicePostgres

/// Nodes that are killed, stopped and ended while clients write through all of them.
struct KilledNodeTests {
    @Test func `kill -9 of nodes under writers loses nothing and repeats nothing`() async throws {
        try await NodeCluster.with { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                for round in NodeCluster.kills(9) {
                    try await writers.getOn()
                    try await cluster.nodes[round % 3].kill()
                    // Its client goes on elsewhere.
                    try await writers.getOn()
                    try await cluster.nodes[round % 3].start()
                }
            }
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `a node that is killed before it hears that its group is there leaves it there once`() async throws {
        try await killing { node, _ in
            try await node.proxy.reach(.appended)
            try await node.kill()
            node.proxy.mode = .forwards
        }
    }

    @Test func `an append that arrives when its node was killed is there once, or not, as the next one`() async throws {
        try await killing { node, _ in
            try await node.proxy.reach(.append)
            try await node.kill()
            node.proxy.mode = .forwards
        }
    }

    @Test func `an append that arrives when its node was killed and others have its place is not there`() async throws {
        try await killing { node, cluster in
            try await node.proxy.reach(.append)
            try await node.kill()
            let before = try cluster.lastPosition()
            try await wait(for: "somebody to have its place") { try cluster.lastPosition() > before }
            node.proxy.mode = .forwards
        }
    }

    /// Kills a node to which clients write, again and again; they go on elsewhere.
    private func killing(_ kill: (NodeProcess, NodeCluster) async throws -> Void) async throws {
        try await NodeCluster.with { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                for _ in NodeCluster.kills(5) {
                    try await writers.getOn()
                    let node = try cluster.lastAuthor()
                    try await kill(node, cluster)
                    try await writers.getOn()
                    try await node.start()
                }
            }
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `the name of a killed node is free at once for its folder, and later for others`() async throws {
        try await NodeCluster.with(1) { cluster in
            let node = cluster.nodes[0]
            func run() throws -> [UInt8] {
                try cluster.database.connect().execute(PostgresStatement(nil, "SELECT run FROM sluice.node")).bytes(0)
            }
            try await Ledger.begin(node.url())
            let first = try run()
            try await node.restart()
            _ = try await Ledger.content(node.url())
            let second = try run()
            #expect(second != first)
            let options = ["--journal=\(cluster.database.url)", "--node=a"]
            let refused = try await Tool.run(
                ["serve", "--data=\(node.folder)-other", "--listen=127.0.0.1:0", "--dev"] + options)
            #expect(refused.code == 1 && refused.lines.isEmpty, "\(refused)")
            for words in ["another node that is alive has the name 'a'", "its version is ", "heard of", "--node=NAME"] {
                #expect(refused.diagnostics.contains(words), "\(words): \(refused)")
            }
            #expect(try run() == second)
            try await node.kill()
            let other = try await ServerProcess.start(folder: node.folder + "-other", options: options)
            _ = try await Ledger.content(other.url())
            try await wait(for: "the other to have the name") { try run() != second }
            try await other.kill()
        }
    }

    @Test func `a commit of which a killed node has not told its client is there once, as it learns elsewhere`()
        async throws
    {
        try await NodeCluster.with(2) { cluster in
            let (node, other) = (cluster.nodes[0], cluster.nodes[1])
            let way = try Proxy(to: node.port)
            defer { way.stop() }
            try await Ledger.begin(node.url())
            let writer = try await LedgerWriter(
                0, ["ws://127.0.0.1:\(way.port)/\(NodeCluster.databaseName)", other.url()])
            for _ in NodeCluster.kills(3) {
                // The client goes back to its node if the other one is not there.
                try await other.kill()
                try await writer.writeOne()
                way.mode = .dropsReplies
                try await writer.writeLocally()
                // Who reads it there at once finds it: the node has stored it, and told everybody.
                try await wait(for: "the node to have it") {
                    try await Set(Ledger.content(node.url()).names) == writer.names
                }
                #expect(writer.acknowledged == writer.written - 1)
                try await node.kill()
                way.mode = .forwards
                try await other.start()
                try await writer.acknowledge()
                try await node.start()
            }
            try await cluster.checkAgreement([writer])
        }
    }

    @Test func `a node that stops while it has the turn loses it, and follows when it goes on`() async throws {
        try await NodeCluster.with { cluster in
            let writers = try await cluster.writers()
            let node = cluster.nodes[0]
            let turns = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'a' AND state = 'idle in transaction'
                """
            try await writers.whileWriting {
                try await writers.getOn()
                try await wait(for: "the node to stop while it has the turn") {
                    node.signal(SIGSTOP)
                    if try cluster.database.number(turns) > 0 { return true }
                    node.signal(SIGCONT)
                    return false
                }
                try await writers.getOn()
                #expect(try cluster.database.number(turns) == 0)
                node.signal(SIGCONT)
                try await writers.getOn()
            }
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `a node that stops under load keeps nobody from writing, and follows when it goes on`() async throws {
        try await NodeCluster.with { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                for node in cluster.nodes {
                    try await writers.getOn()
                    node.signal(SIGSTOP)
                    // Its own client goes on elsewhere, too, and a turn that it had ends by itself.
                    try await writers.getOn()
                    node.signal(SIGCONT)
                }
            }
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `clients only connect again when each node ends in turn under load`() async throws {
        try await NodeCluster.with { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                for node in cluster.nodes {
                    try await writers.getOn()
                    try await node.stop()
                    try await writers.getOn()
                    try await node.start()
                }
            }
            try await cluster.checkAgreement(writers)
        }
    }
}

#endif
