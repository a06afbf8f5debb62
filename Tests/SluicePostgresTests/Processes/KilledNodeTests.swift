#if PostgreSQL

import Glibc
import TestSupport
import Testing

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

    @Test func `a node that is killed after an append without an answer leaves its group there once`() async throws {
        try await NodeCluster.with { cluster in
            let writers = try await cluster.writers()
            let node = cluster.nodes[0]
            try await writers.whileWriting {
                for _ in NodeCluster.kills(5) {
                    try await writers.getOn()
                    node.proxy.mode = .dropsReplies
                    try await node.proxy.waitForDropped()
                    try await node.kill()
                    node.proxy.mode = .forwards
                    try await writers.getOn()
                    try await node.start()
                }
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
