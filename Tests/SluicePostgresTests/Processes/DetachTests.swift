#if PostgreSQL

import Foundation
import Sluice
import TestSupport
import Testing

@testable import SluicePostgres

/// What `sluice cluster detach` and `verify` say, and what others are told of a database that has left.
struct DetachTests {
    @Test func `detach says where a database has gone, and refuses a second copy`() async throws {
        try await NodeCluster.with(2) { cluster in
            let (node, other) = (cluster.nodes[0], cluster.nodes[1])
            for name in [NodeCluster.databaseName, "leaving"] { try await Ledger.begin(node.url(name)) }
            let watching = try ChildProcess(
                Tool.path, ["query", other.url("leaving"), "Counter", "--watch", "--format=jsonl"])
            _ = try await watching.line(with: "\"count\":1")
            try await node.stop()
            let (alone, second) = (node.folder + "-alone", node.folder + "-second")
            let journal = "--journal=\(cluster.database.url)"
            func detach(_ arguments: String...) async throws -> ChildProcess.Exit {
                try await Tool.run(["cluster", "detach", journal, "--data=\(node.folder)"] + arguments)
            }
            let first = try await detach("leaving", "--to=\(alone)")
            #expect(first.code == 0 && first.lines.count == 1, "\(first)")
            #expect(
                first.lines[0].wholeMatch(of: /database leaving: is a server's alone, with [0-9]+ groups/) != nil,
                "\(first)")
            // Nobody has written, and who watches at another node is told.
            let told = try await watching.finish()
            #expect(told.code == 1 && told.diagnostics.contains("'leaving' was detached from this cluster"), "\(told)")
            #expect(told.diagnostics.contains("another server has it now; connect to that one"), "\(told)")
            let asked = try await Tool.run("query", other.url("leaving"), "Counter")
            #expect(asked.code == 1 && asked.diagnostics.contains("'leaving' was detached"), "\(asked)")

            #expect(try await detach("leaving", "--to=\(alone)").lines == first.lines, "it is finished, or repeated")
            let refused = try await detach("leaving", "--to=\(second)")
            #expect(refused.code == 1 && refused.lines.isEmpty, "\(refused)")
            for words in [
                "the database 'leaving' was detached before, into ", "/a-alone, so nothing was detached",
                "say --again",
            ] { #expect(refused.diagnostics.contains(words), "\(words): \(refused)") }
            let status = try await Tool.run("cluster", "status", journal)
            #expect(
                status.lines.contains {
                    $0.hasPrefix("database leaving: ") && $0.contains(", detached into ") && $0.contains("/a-alone")
                }, "\(status)")
            try FileManager.default.removeItem(atPath: alone)
            #expect(try await detach("leaving", "--to=\(second)", "--again").lines == first.lines)

            try await other.stop()
            let rest = try await detach()
            #expect(rest.code == 0 && rest.lines.count == 2, "\(rest)")
            let leftOut = "database leaving: left out, since it was detached before, into "
            #expect(rest.lines[0].hasPrefix(leftOut), "\(rest)")
            #expect(rest.lines[1].hasPrefix("database test: is a server's alone, with "), "\(rest)")
            let again = try await Tool.run("cluster", "detach", "--offline", "--again", "--data=\(node.folder)")
            #expect(again.code == 64 && again.diagnostics.contains("leave --again out"), "\(again)")
        }
    }

    @Test func `verify says what each node has, and whether that is the same`() async throws {
        try await NodeCluster.with(2) { cluster in
            for node in cluster.nodes { try await Ledger.begin(node.url()) }
            try await cluster.waitForOneHead()
            let journal = "--journal=\(cluster.database.url)"
            let agreed = try await Tool.run("cluster", "verify", NodeCluster.databaseName, journal)
            #expect(agreed.code == 0 && agreed.lines.count == 3, "\(agreed)")
            let digests = agreed.lines.prefix(2).compactMap { $0.wholeMatch(of: /node ([ab]): ([0-9a-f]{64})/) }
            #expect(digests.map(\.1) == ["a", "b"] && Set(digests.map(\.2)).count == 1, "\(agreed)")
            #expect(agreed.lines.last?.wholeMatch(of: /all have the same at position [0-9]+/) != nil, "\(agreed)")
            let unknown = try await Tool.run("cluster", "verify", "tset", journal)
            #expect(unknown.code == 1 && unknown.diagnostics.contains("test"), "\(unknown)")
        }
    }

    @Test func `a comparison says who differs, and who has not answered`() {
        var comparison = ClusterComparison(position: 7, digests: ["b": "02", "a": "01"], missing: [])
        #expect(!comparison.agrees)
        #expect(comparison.text == "node a: 01\nnode b: 02\nthey differ at position 7\n")
        comparison.missing = ["c"]
        #expect(comparison.text.hasSuffix("node c: no answer\nnot all have answered\n"))
        comparison = ClusterComparison(position: 7, digests: ["a": "01", "b": "01"], missing: [])
        #expect(comparison.agrees && comparison.text.hasSuffix("all have the same at position 7\n"))
    }
}

#endif
