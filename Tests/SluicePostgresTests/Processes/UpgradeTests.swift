#if PostgreSQL

import Foundation
import Glibc
import Sluice
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

/// Nodes of several versions beside each other.
struct UpgradeTests {
    /// Appends a group in a form that only a later version reads.
    private func appendOfLaterVersion(_ database: TestDatabase) throws {
        try database.run(
            """
            BEGIN;
            SELECT 1 FROM sluice.database WHERE name = '\(NodeCluster.databaseName)' FOR NO KEY UPDATE;
            INSERT INTO sluice.journal (database, position, chain, record, node)
              SELECT database, position + 1, sha256('later'), '\\x09', 'later' FROM sluice.journal
              WHERE database = (SELECT id FROM sluice.database WHERE name = '\(NodeCluster.databaseName)')
              ORDER BY position DESC LIMIT 1;
            COMMIT;
            """)
    }

    /// Puts a group that does nothing in the place of that one, as who reads its form has it.
    private func translate(_ database: TestDatabase) throws {
        let journal = try database.node("reader").open(NodeCluster.databaseName)
        let count = try database.number(
            "SELECT max(position) FROM sluice.journal WHERE node = 'later' AND get_byte(record, 0) = 9")
        let last = try #require(try journal.records(after: UInt64(count) - 2, countMax: 1).first)
        let before = try JournalGroup.decode(last.bytes)
        let group = JournalGroup(
            baseVersion: before.baseVersion + UInt64(before.transactions.reduce(0) { sum, _ in sum + 1 }),
            acceptedAt: before.acceptedAt, steps: [.mark(9)])
        let record = JournalRecord(group, after: last.head)
        func hex(_ bytes: [UInt8]) -> String {
            "'\\x" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
        }
        try database.run(
            """
            UPDATE sluice.journal SET chain = \(hex(record.head.chain)), record = \(hex(RecordBytes.pack(record.bytes)))
            WHERE position = \(count) AND node = 'later'
            """)
    }

    /// Makes a program one that knows no newer format of groups than the first.
    private static let old = ["SLUICE_JOURNAL_FORMAT": "1"]

    /// Deploys rules at a node, which hide nothing: where they came from is what an old node cannot read.
    private func deployRules(_ number: Int, at node: NodeProcess) async throws {
        let all = #"{"read": "writer != \#(1_000 + number)", "create": true, "update": true}"#
        let rules = #"""
            {"database": {"schema": true, "rules": true},
             "classes": {"Entry": \#(all), "Counter": {"read": true, "create": true, "update": true}}}
            """#
        let file = "\(node.folder)-rules.json"
        try rules.write(toFile: file, atomically: true, encoding: .utf8)
        let deployed = try await Tool.run("rules", "deploy", node.url(), file)
        #expect(deployed.code == 0, "\(deployed)")
    }

    /// The formats of the groups from a position on.
    private func formats(_ cluster: NodeCluster, after position: Int64 = 0) throws -> Set<UInt8> {
        let journal = try cluster.database.node("reader").open(NodeCluster.databaseName)
        var (formats, last): (Set<UInt8>, UInt64) = ([], UInt64(position))
        while true {
            let records = try journal.records(after: last, countMax: 1_000)
            guard let end = records.last else { return formats }
            formats.formUnion(records.compactMap(\.bytes.first))
            last = end.head.position
        }
    }

    private func waitForFormat(_ format: Int, _ cluster: NodeCluster) async throws {
        try await wait(for: "groups to be written in format \(format)") {
            try PostgresCluster.status(cluster.database.url).format == format
        }
    }

    @Test func `nodes are upgraded and put back one by one under load, and none meets what it cannot read`()
        async throws
    {
        try await NodeCluster.with(environment: Self.old) { cluster in
            let writers = try await cluster.writers()
            var number = 0
            try await writers.whileWriting {
                for environment in [[:], Self.old] {
                    for node in cluster.nodes {
                        try await writers.getOn()
                        try await node.stop()
                        node.environment = environment
                        try await node.start()
                        number += 1
                        try await deployRules(number, at: node)
                        try await writers.getOn()
                    }
                }
            }
            #expect(try formats(cluster) == [1])
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `without old nodes groups have what is new, and one that comes all the same says so and is heeded`()
        async throws
    {
        try await NodeCluster.with(2) { cluster in
            let (node, other) = (cluster.nodes[0], cluster.nodes[1])
            let writers = try await cluster.writers()
            for writer in writers { try await writer.writeOne() }
            try await waitForFormat(2, cluster)
            try await other.kill()
            try await deployRules(1, at: node)
            #expect(try formats(cluster) == [1, 2])
            other.environment = Self.old
            try await other.start()
            let visitor = try await Ledger.store([other.url()], access: .readOnly)
            try await other.logged("has format 2", "Update it")
            await visitor.close()
            // From now on the others write what it reads.
            try await waitForFormat(1, cluster)
            try await node.logged("groups are written in another format", "\"format\":\"1\"")
            let last = try cluster.lastPosition()
            try await deployRules(2, at: node)
            #expect(try formats(cluster, after: last) == [1])
            try await other.kill()
            other.environment = [:]
            try await other.start()
            try await writers[1].writeOne()
            // It may come back for a day, which is over then.
            #expect(try PostgresCluster.status(cluster.database.url).format == 1)
            try cluster.database.run("UPDATE sluice.node SET state = state || '{\"olderSeen\": 0}'")
            try await waitForFormat(2, cluster)
            try await cluster.checkAgreement(writers)
        }
    }

    @Test func `a node that cannot read a record serves its other databases, and goes on once it can`() async throws {
        try await NodeCluster.with(2) { cluster in
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                try await writers.getOn()
                try appendOfLaterVersion(cluster.database)
                for node in cluster.nodes {
                    try await node.logged("a record of the journal has format 9", "Update it")
                    try await Ledger.begin(node.url("other"))
                }
                try translate(cluster.database)
                try await writers.getOn()
            }
            try await cluster.checkAgreement(writers)
        }
    }
}

#endif
