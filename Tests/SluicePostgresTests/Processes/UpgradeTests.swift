#if PostgreSQL

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
