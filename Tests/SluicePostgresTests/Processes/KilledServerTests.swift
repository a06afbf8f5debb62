#if PostgreSQL

import Glibc
import Sluice
import TestSupport
import Testing

/// A PostgreSQL that goes away under nodes with clients, or from one of them.
struct KilledServerTests {
    @Test func `kill -9 of PostgreSQL under writers loses nothing and repeats nothing`() async throws {
        let server = try await PostgresServer()
        try await NodeCluster.with(on: server) { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                for _ in NodeCluster.kills(5) {
                    try await writers.getOn()
                    try await server.kill()
                    try await server.start()
                }
                try await writers.getOn()
            }
            try await cluster.checkAgreement(writers)
        }
        try await server.stop()
    }

    @Test func `kill -9 of PostgreSQL and all nodes at once loses nothing and repeats nothing`() async throws {
        let server = try await PostgresServer()
        try await NodeCluster.with(on: server) { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                for _ in NodeCluster.kills(3) {
                    try await writers.getOn()
                    for node in cluster.nodes { node.signal(SIGKILL) }
                    try await server.kill()
                    try await server.start()
                    for node in cluster.nodes { try await node.restart() }
                }
                try await writers.getOn()
            }
            try await cluster.checkAgreement(writers)
        }
        try await server.stop()
    }

    @Test func `while PostgreSQL is away queries are answered, and writes are taken later by themselves`() async throws
    {
        let server = try await PostgresServer()
        try await NodeCluster.with(2, on: server) { cluster in
            let writers = try await cluster.writers()
            for writer in writers { try await writer.writeOne() }
            for writer in writers { try await writer.shows(writers.names) }
            try await server.kill()
            for writer in writers { try await writer.writeLocally() }
            // The patience is over.
            for node in cluster.nodes { try await node.logged("the journal of a database does not answer") }
            for writer in writers {
                let own = try await writer.store.records("Entry WHERE name == '0/0'").synced(timeout: waitMax)
                #expect(own.count == 1)
                try await writer.writeLocally()
            }
            let reader = try await Ledger.store([cluster.nodes[0].url()], access: .readOnly)
            #expect(try await reader.records("Entry").synced(timeout: waitMax).count == 2)
            await reader.close()
            #expect(writers.allSatisfy { $0.acknowledged == 1 && $0.resetCount == 0 })
            try await server.start()
            try await cluster.checkAgreement(writers)
        }
        try await server.stop()
    }

    @Test func `a node that starts while PostgreSQL is away answers queries, and takes writes when it is back`()
        async throws
    {
        let server = try await PostgresServer()
        try await NodeCluster.with(1, on: server) { cluster in
            let node = cluster.nodes[0]
            try await Ledger.begin(node.url())
            let writer = try await LedgerWriter(0, [node.url()])
            try await writer.writeOne()
            try await node.kill()
            try await server.kill()
            try await node.start()
            try await node.logged("the server starts without its journals")
            let reader = try await Ledger.store([node.url()], access: .readOnly)
            #expect(try await reader.records("Entry").synced(timeout: waitMax).count == 1)
            await reader.close()
            try await writer.writeLocally()
            try await server.start()
            try await cluster.checkAgreement([writer])
        }
        try await server.stop()
    }

    @Test func `a node that alone is cut off from PostgreSQL answers queries, and takes writes when it is back`()
        async throws
    {
        try await NodeCluster.with { cluster in
            let writers = try await cluster.writers()
            let node = cluster.nodes[0]
            try await writers.whileWriting {
                try await writers.getOn()
                node.proxy.mode = .refuses
                node.proxy.cut()
                try await node.logged("the journal of a database does not answer")
                try await Array(writers[1...]).getOn()
                let own = try await writers[0].store.records("Entry WHERE name == '0/0'").synced(timeout: waitMax)
                #expect(own.count == 1)
                node.proxy.mode = .forwards
                try await writers.getOn()
            }
            try await cluster.checkAgreement(writers)
        }
    }
}

#endif
