#if PostgreSQL

import TestSupport
import Testing

/// Connections to PostgreSQL that end, stand still, or lose its answers, while clients write through all nodes: nothing is
/// lost, and nothing is there twice.
struct TroubledServerTests {
    @Test func `answers to one node that are lost, each of which says that a group is there`() async throws {
        try await check { cluster, _ in
            try await cluster.nodes[0].proxy.reach(.appended)
            cluster.nodes[0].proxy.cut()
        }
    }

    @Test func `appends of one node that arrive after those of others`() async throws {
        try await check { cluster, others in
            try await cluster.nodes[0].proxy.reach(.append)
            let before = try cluster.lastPosition()
            // Somebody else has the position by now.
            try await others.getOn()
            #expect(try cluster.lastPosition() > before)
        }
    }

    @Test func `connections of one node that are cut`() async throws {
        try await check { cluster, _ in cluster.nodes[0].proxy.cut() }
    }

    @Test func `a process of PostgreSQL that is ended, and appends for one node`() async throws {
        let end = """
            SELECT count(pg_terminate_backend(pid, 60000)) FROM (SELECT pid FROM pg_stat_activity
              WHERE datname = current_database() AND application_name = 'a' AND query LIKE '%INSERT INTO sluice.journal%'
              ORDER BY state_change DESC LIMIT 1) AS last
            """
        try await check { cluster, _ in
            try await wait(for: "a process that appends") { try cluster.database.number(end) == 1 }
        }
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
            for node in cluster.nodes { #expect(node.endedSessions.isEmpty) }
            try await cluster.checkAgreement(writers)
        }
    }
}

#endif
