import Foundation
import TestSupport
import Testing

/// What `sluice query --format=csv` prints.
@Suite struct QueryFormatTests {
    private func lines(_ server: ServerProcess, _ query: String) async throws -> [String] {
        let result = try await Tool.run("query", server.url(), query, "--format=csv")
        #expect(result.code == 0, "\(result.diagnostics)")
        return result.lines
    }

    @Test func objectsAndFiguresAreLinesOfCSV() async throws {
        try await withFolder { folder in
            try await withServer { server in
                let file = folder + "/planes.csv"
                let rows = ["tail,maker,seats", "N1,\"Airbus, SE\",100", "N2,Boeing,200", "N3,Boeing,", "N4,\"\",50"]
                try rows.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
                let imported = try await Tool.run(
                    "import", server.url(), "Plane", file, "--key=tail", "--type=maker:string?")
                #expect(imported.code == 0, "\(imported.diagnostics)")
                let all = try await lines(server, "Plane SORT(tail ASC)")
                #expect(all == rows)
                // What a query excludes is no column: an empty one would be null when it is imported.
                let some = try await lines(server, "Plane SORT(tail ASC) LIMIT(2) EXCLUDE(maker)")
                #expect(some == ["tail,seats", "N1,100", "N2,200"])
                #expect(try await lines(server, "Plane WHERE seats > 999") == ["tail,maker,seats"])
                let groups = try await lines(server, "Plane GROUP(maker) AGGREGATE(@count, @sum.seats)")
                #expect(groups == ["maker,@count,@sum.seats", "\"\",1,50", "\"Airbus, SE\",1,100", "Boeing,2,200"])
                let none = try await lines(server, "Plane WHERE seats > 999 AGGREGATE(@max.seats)")
                #expect(none == ["@max.seats", "NA"])
                for option in ["--watch", "--expand=maker"] {
                    let refused = try await Tool.run("query", server.url(), "Plane", "--format=csv", option)
                    #expect(refused.code == 64, "\(refused.diagnostics)")
                    #expect(refused.diagnostics.contains("--format=jsonl"), "\(refused.diagnostics)")
                }
            }
        }
    }
}
