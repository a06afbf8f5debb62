#if PostgreSQL

import TestSupport
import Testing

@testable import SluicePostgres

/// A node that has appended to the journal, and has no room for what it has appended.
struct FullReplicaTests {
    @Test(.onSmallDisk)
    func `what a node with a full disk has appended is elsewhere, and it catches up once there is room`()
        async throws
    {
        let disk = try #require(SmallDisk())
        let database = try await PostgresServer.shared.value.database()
        try await withFolder { folder in
            let nodes = [
                try NodeProcess("a", in: folder, of: database), try NodeProcess("b", in: disk.path, of: database),
            ]
            let cluster = NodeCluster(database: database, nodes: nodes)
            try await cluster.whileRunning {
                let writers = try await cluster.writers()
                try await writers.whileWriting {
                    try await writers.getOn()
                    disk.fill()
                    try await nodes[1].logged("a database cannot be written", "\"database\":\"test\"")
                    // The node with room goes on, and has what the other one could not store.
                    try await [writers[0]].getOn()
                    // The disk is too small for what both would write meanwhile.
                    for writer in writers { writer.finish() }
                    // Balancers are told how far it is behind.
                    try await wait(for: "the node to be unready") { try await nodes[1].readiness().status == 503 }
                    disk.clear()
                    try await wait(for: "the node to be ready again") {
                        try await nodes[1].readiness().status == 200
                    }
                }
                try await writers.whileWriting { try await writers.getOn() }
                try await cluster.checkAgreement(writers)
            }
        }
    }
}

#endif
