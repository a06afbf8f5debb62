#if PostgreSQL

import TestSupport
import Testing

/// Connections to PostgreSQL that end, stand still, or lose its answers, while clients write through all nodes: nothing is
/// lost, and nothing is there twice.
struct TroubledServerTests {
    @Test func `answers to one node that are lost`() async throws {
        try await check { cluster, _ in
            cluster.nodes[0].proxy.mode = .dropsReplies
            try await cluster.nodes[0].proxy.waitForDropped()
            cluster.nodes[0].proxy.cut()
        }
    }

    @Test func `appends of one node that arrive after those of others`() async throws {
        try await check { cluster, others in
            cluster.nodes[0].proxy.mode = .holds
            try await cluster.nodes[0].proxy.waitForHeld()
            // Somebody else has the position by now.
            try await others.getOn()
        }
    }

    @Test func `connections of one node that are cut`() async throws {
        try await check { cluster, _ in cluster.nodes[0].proxy.cut() }
    }

    @Test func `processes of PostgreSQL that are ended`() async throws {
        try await check { cluster, _ in try cluster.database.killBackends() }
    }

    /// Makes trouble again and again while all write.
    private func check(_ trouble: (_ cluster: NodeCluster, _ others: [LedgerWriter]) async throws -> Void) async throws
    {
        try await NodeCluster.with { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                for _ in NodeCluster.kills(4) {
                    try await writers.getOn()
                    try await trouble(cluster, Array(writers[1...]))
                    cluster.nodes[0].proxy.mode = .forwards
                }
                try await writers.getOn()
            }
            try await cluster.checkAgreement(writers)
        }
    }
}

#endif
