#if PostgreSQL

import Sluice
import TestSupport
import Testing

/// What one node makes is there on the others.
struct SharedDatabaseTests {
    @Test func `nodes that make one database at once make one, and have each other's writes`() async throws {
        try await NodeCluster.with { cluster in
            for number in 0..<4 {
                let name = "made-\(number)"
                let stores = try await withThrowingTaskGroup(of: Store.self) { group in
                    for node in cluster.nodes {
                        let url = node.url(name)
                        let entry = try Record(
                            Ledger.entry.get(), ["name": .string("by \(node.name)"), "writer": .int(0)])
                        group.addTask {
                            let store = try await Ledger.store([url])
                            try await store.write { try $0.upsert(entry) }
                            try await store.uploaded(timeout: waitMax)
                            return store
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                for store in stores {
                    let observation = try store.records("Entry").observe { _ in }
                    try await wait(for: "the entries of all nodes in \(name)") {
                        try store.records("Entry").fetch().count == cluster.nodes.count
                    }
                    observation.stop()
                    await store.close()
                }
                #expect(
                    try cluster.database.number("SELECT count(*) FROM sluice.database WHERE name = '\(name)'") == 1)
            }
        }
    }

    @Test func `what is declared on one node is in force on the others`() async throws {
        let extra = try ClassSchema(
            "Extra", primaryKey: "id",
            properties: [Property("id", .scalar(.int)), Property("note", .scalar(.string))])
        try await NodeCluster.with(2) { cluster in
            let (first, second) = (cluster.nodes[0], cluster.nodes[1])
            let writers = try await cluster.writers()
            try await writers.whileWriting {
                try await writers.getOn()
                let author = try await Ledger.store([first.url()], classes: [extra])
                let record = try Record(extra, ["id": .int(1), "note": .string("seen")])
                try await author.write { try $0.upsert(record) }
                try await author.uploaded(timeout: waitMax)
                // Nobody there has declared it.
                let reader = try await Ledger.store([second.url()], classes: [extra], access: .readOnly)
                let observation = try reader.records("Extra").observe { _ in }
                try await wait(for: "the object of the new class") {
                    try reader.records("Extra").first()?["note"] == .string("seen")
                }
                observation.stop()
                for store in [author, reader] { await store.close() }
                try await writers.getOn()
            }
            try await cluster.checkAgreement(writers)
        }
    }
}

#endif
