#if PostgreSQL

import Sluice
import TestSupport
import Testing

@testable import SluicePostgres

/// Large transactions of one node beside small ones of another.
struct LargeWriteTests {
    private static let part = Result {
        try ClassSchema(
            "Part", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("name", .scalar(.string))])
    }
    private static let chunkCount: Int64 = 12
    private static let chunkSize: Int64 = 5_000

    private func load(_ store: Store) async throws {
        for chunk in 0..<Self.chunkCount {
            try await store.write { transaction in
                for id in chunk * Self.chunkSize..<(chunk + 1) * Self.chunkSize {
                    // Numbered names would take next to nothing, and the group would not be told from small ones.
                    let name = String(UInt64(id + 1) &* 0x9E37_79B9_7F4A_7C15, radix: 36)
                    let values: [String: Value] = ["id": .int(id), "name": .string(name)]
                    try transaction.insert(Record(Self.part.get(), values))
                }
            }
            try await store.uploaded(timeout: waitMax)
        }
    }

    @Test func `an import at one node and small writes at another both get on`() async throws {
        try await NodeCluster.with(2) { cluster in
            try await Ledger.begin(cluster.nodes[0].url())
            let writer = try await LedgerWriter(0, cluster.urls(from: 1))
            let importer = try await Ledger.store([cluster.nodes[0].url()], classes: [Self.part.get()])
            try await [writer].whileWriting {
                try await [writer].getOn()
                async let small: Void = [writer].getOn(by: 10)
                try await load(importer)
                try await small
            }
            // Between the parts of the import are groups of the other node.
            let between = """
                WITH large AS (SELECT database, min(position) AS first, max(position) AS last FROM sluice.journal
                  WHERE node = 'a' AND octet_length(record) > 5000 GROUP BY database)
                SELECT count(*) FROM sluice.journal JOIN large USING (database)
                WHERE node = 'b' AND position > first AND position < last
                """
            #expect(try cluster.database.number(between) > 0)
            for node in cluster.nodes {
                let reader = try await Ledger.store([node.url()], classes: [Self.part.get()], access: .readOnly)
                let found = try await reader.records("Part").synced(timeout: waitMax)
                #expect(found.count == Int(Self.chunkCount * Self.chunkSize), "\(node.name)")
                await reader.close()
            }
            await importer.close()
            try await cluster.checkAgreement([writer])
        }
    }
}

#endif
