import Foundation
import TestSupport
import Testing

@testable import SluiceCLI

@Suite(.serialized)
struct ExplainTests {
    private func load(_ server: ServerProcess) async throws {
        let planes = try TemporaryFile("tailnum,year,seats\nN1,1999,55\nN2,2004,182\n")
        let result = try await Tool.run("import", server.url(), "Plane", planes.path, "--key=tailnum")
        #expect(result.code == 0, "\(result.diagnostics)")
    }

    @Test func aQueryIsExplainedInTextAndInJSON() async throws {
        try await withServer { server in
            try await load(server)
            let query = "Plane WHERE 50 < seats SORT(year DESC) LIMIT(5)"
            let text = try await Tool.run("explain", server.url(), query, "--format=text")
            #expect(text.code == 0 && text.diagnostics == "", "\(text.diagnostics)")
            for part in [
                "Plane WHERE seats > 50 SORT(year DESC) LIMIT(5)", "?1 = 50", "SCAN o", "Plane(year)  automatic",
                "found by range: seats > 50", "a window of at most 21 rows", "Plane.seats    evaluates the predicate",
                "Plane.year     moves in the window",
            ] {
                #expect(text.lines.contains { $0.contains(part) }, "'\(part)' is not in \(text.lines)")
            }
            let json = try await Tool.run("explain", server.url(), query)
            let line = try #require(json.lines.first)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(json.lines.count == 1)
            #expect(object["query"] as? String == "Plane WHERE seats > 50 SORT(year DESC) LIMIT(5)")
            let plan = try #require(object["plan"] as? [String: Any])
            // The fifth year is looked for first: with the condition, and behind four others.
            #expect(plan["parameters"] as? [String] == ["50", "50", "4", "5"])
            #expect((object["view"] as? [String: Any])?["method"] as? String == "range")
            #expect((object["writes"] as? [[String: Any]])?.count == 3)
        }
    }

    @Test func explainingLeavesNothingOnTheServer() async throws {
        let folder = NSTemporaryDirectory() + "sluice-explain-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withServer(folder: folder) { server in
            try await load(server)
            let id = String(repeating: "0", count: 31) + "1"
            #expect(try await Tool.run("explain", server.url("empty"), "OBJECT(\(id))").code == 1)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).allSatisfy { !$0.contains("empty") })
            let lookup = try await Tool.run("explain", server.url(), "OBJECT(\(id))", "--format=text")
            #expect(lookup.code == 0, "\(lookup.diagnostics)")
            #expect(lookup.lines.contains("plan     a lookup by the object's id"), "\(lookup.lines)")
            #expect(try await Tool.run("explain", server.url(), "Plane").code == 0)
            #expect(try await Tool.run("subscriptions", server.url()).lines.isEmpty)
        }
    }

    @Test(arguments: [
        ("Plane WHERE", 64, "query, at byte"), ("Car", 1, "class 'Car'"), ("Plane WHERE wings > 1", 1, "wings"),
    ])
    func whatCannotBeExplainedHasItsExitCode(query: String, code: Int32, message: String) async throws {
        try await withServer { server in
            try await load(server)
            let result = try await Tool.run("explain", server.url(), query)
            #expect(result.code == code)
            #expect(result.lines.isEmpty)
            #expect(
                result.diagnostics.hasPrefix("sluice: ") && result.diagnostics.contains(message),
                "\(result.diagnostics)")
        }
    }
}
