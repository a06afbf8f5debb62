#if PostgreSQL

import Glibc
import Sluice
import TestSupport
import Testing

/// What balancers are told about nodes, and what becomes of the clients of a node that ends.
struct HealthTests {
    @Test
    func `a node that does not reach PostgreSQL is unready, sends its clients on once, and is ready again by itself`()
        async throws
    {
        try await NodeCluster.with(2) { cluster in
            try await Ledger.begin(cluster.nodes[0].url())
            let (cut, other) = (cluster.nodes[0], cluster.nodes[1])
            // One knows the other node, and one does not.
            let roaming = try await CountingClient(cluster.urls(from: 0))
            let loyal = try await CountingClient([cut.url()])
            for client in [roaming, loyal] { try await client.write() }
            for node in cluster.nodes {
                let answer = try await node.readiness()
                #expect(answer.status == 200 && answer.body.contains("\"journal\":{\"answers\":true"), "\(answer.body)")
            }
            cut.proxy.mode = .refuses
            cut.proxy.cut()
            try await wait(for: "the node to be unready") { try await cut.readiness().status == 503 }
            let answer = try await cut.readiness()
            #expect(answer.body.hasPrefix("{\"state\":\"serving\",\"ready\":false"), "\(answer.body)")
            #expect(answer.body.contains("\"answers\":false"), "\(answer.body)")
            #expect(try await other.readiness().status == 200)
            // It still answers queries, and says that it lives.
            #expect(try await HTTPAnswer.get("/health/live", port: cut.port).status == 200)
            #expect(try await Ledger.content(cut.url()).count == 0)
            try await cut.logged("stores that know other servers are sent there")
            try await roaming.write()
            #expect(roaming.openingCount == 2 && loyal.openingCount == 1)
            // Who comes now, and knows another, is sent there at once; who has been everywhere is served.
            let late = try await CountingClient(cluster.urls(from: 0))
            try await late.write()
            other.proxy.mode = .refuses
            other.proxy.cut()
            try await wait(for: "the other node to be unready") { try await other.readiness().status == 503 }
            try await wait(for: "it to send its clients on") { roaming.openingCount == 3 && late.openingCount == 2 }
            #expect(try await late.store.records("Entry").synced(timeout: waitMax).count == 4)
            other.proxy.mode = .forwards
            cut.proxy.mode = .forwards
            try await wait(for: "the node to be ready again") { try await cut.readiness().status == 200 }
            for client in [roaming, loyal, late] {
                try await client.write()
                #expect(client.resetCount == 0)
                await client.store.close()
            }
        }
    }

    @Test func `clients only connect again when each node that others can name ends in turn under load`() async throws {
        try await NodeCluster.with(haveURLs: true) { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                for node in cluster.nodes {
                    try await writers.getOn()
                    // The name of a node that has ended in order is free at once.
                    try await cluster.waitForURLs()
                    try await node.stop()
                    #expect(node.process?.diagnostics.contains("sessions are handed over") == true)
                    try await writers.getOn()
                    try await node.start()
                }
            }
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `a node that drains answers 503 and serves on until its time is over`() async throws {
        try await NodeCluster.with(2) { cluster in
            let node = cluster.nodes[0]
            try await node.kill()
            node.moreOptions = ["--drain=2m"]
            try await node.start()
            try await Ledger.begin(node.url())
            node.signal(SIGTERM)
            try await wait(for: "the node to be unready") { try await node.readiness().status == 503 }
            #expect(try await node.readiness().body.hasPrefix("{\"state\":\"draining\""))
            #expect(try await Ledger.content(node.url()).count == 0)
            // Who cannot wait says so again.
            node.signal(SIGTERM)
            let exit = try await node.process?.finish()
            #expect(exit?.code != 0)
        }
    }
}

#endif
