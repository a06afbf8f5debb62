#if PostgreSQL

import Foundation
import Sluice
import Synchronization
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

    @Test func `rules that are deployed on one node hide what they hide on the others`() async throws {
        let rules = """
            {"database": {"schema": true, "rules": true},
             "classes": {"Entry": {"read": "writer != 1", "create": true, "update": true, "delete": true}}}
            """
        try await NodeCluster.with(2) { cluster in
            let (first, second) = (cluster.nodes[0], cluster.nodes[1])
            let author = try await Ledger.store([first.url()])
            func write(_ names: String...) async throws {
                for name in names {
                    let entry = try Record(
                        Ledger.entry.get(), ["name": .string(name), "writer": .int(name.hasPrefix("1") ? 1 : 0)])
                    try await author.write { try $0.upsert(entry) }
                }
                try await author.uploaded(timeout: waitMax)
            }
            try await write("0/0", "1/0")
            let reader = try await Ledger.store([second.url()], access: .readOnly)
            let seen = Mutex<Set<String>>([])
            let entries = try reader.records("Entry")
            let observation = try entries.observe { change in
                seen.withLock { $0.formUnion(change.results.compactMap { $0["name"]?.text }) }
            }
            func waitToSee(_ names: Set<String>) async throws {
                try await wait(for: "the reader to see \(names)") {
                    Set(try entries.fetch().compactMap { $0["name"]?.text }) == names
                }
            }
            try await waitToSee(["0/0", "1/0"])
            let file = first.folder + "/rules.json"
            try rules.write(toFile: file, atomically: true, encoding: .utf8)
            let deployed = try await Tool.run("rules", "deploy", first.url(), file)
            #expect(deployed.code == 0, "\(deployed)")
            try await waitToSee(["0/0"])
            try await write("1/1", "0/1")
            try await waitToSee(["0/0", "0/1"])
            #expect(!seen.withLock { $0.contains("1/1") })
            let shown = try await Tool.run("rules", "show", second.url())
            #expect(shown.code == 0 && shown.lines.contains { $0.contains("writer != 1") }, "\(shown)")
            observation.stop()
            for store in [author, reader] { await store.close() }
        }
    }
}

#endif
