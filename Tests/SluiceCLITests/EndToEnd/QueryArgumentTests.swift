import TestSupport
import Testing

@testable import SluiceCLI

/// `--arg`: values that are given separately from the query's text.
@Suite(.serialized)
struct QueryArgumentTests {
    private func load(_ server: ServerProcess) async throws {
        let planes = try TemporaryFile("tailnum,year,seats,built\nN1,1999,55,1999-05-01T00:00:00Z\n12,2004,182,\n")
        let result = try await Tool.run("import", server.url(), "Plane", planes.path, "--key=tailnum")
        #expect(result.code == 0, "\(result.diagnostics)")
    }

    @Test func anArgumentTakesTheTypeThatTheQueryExpects() async throws {
        try await withServer { server in
            try await load(server)
            for (query, arguments, count) in [
                ("Plane WHERE seats > $0", ["60"], 1), ("Plane WHERE seats > $0", ["5.5e1"], 1),
                ("Plane WHERE tailnum == $0", ["12"], 1), ("Plane WHERE tailnum IN {$0, $1}", ["12", "N1"], 2),
                ("Plane WHERE tailnum == $0", ["' OR TRUEPREDICATE"], 0),
                ("Plane WHERE built < $0", ["2000-01-01T00:00:00Z"], 1),
                ("Plane WHERE $1 < seats + $0", ["1", "56"], 1),
                ("Plane LIMIT($0)", ["1"], 1), ("Plane WHERE $K0 == $1", ["seats", "55"], 1),
            ] {
                let options = arguments.map { "--arg=\($0)" }
                let found = try await ChildProcess(Tool.path, ["query", server.url(), query] + options).finish()
                #expect(found.code == 0 && found.lines.count == count, "\(query) \(arguments): \(found.diagnostics)")
            }
            let explained = try await Tool.run(
                "explain", server.url(), "Plane WHERE tailnum == $0", "--arg=12", "--format=text")
            #expect(explained.lines.contains { $0.contains("Plane WHERE tailnum == \"12\"") }, "\(explained.lines)")
        }
    }

    @Test(arguments: [
        ("Plane WHERE seats > $0", ["many"], 64, "at byte 20: the argument is not int (Plane.seats), as in 12"),
        ("Plane WHERE built < $0", ["1999"], 64, "the argument is not date (Plane.built), as in 2013-01-31T10:00:00Z"),
        ("Plane WHERE seats > $1", ["60"], 64, "argument $1 is missing: 1 is given"),
        ("Plane WHERE seats > $0", [], 64, "argument $0 is missing: 0 are given; give it as --arg=VALUE"),
        ("Plane WHERE seats > 5", ["60"], 64, "1 argument is given, and the query does not use $0"),
        ("Plane WHERE seats > $0", ["60", "7"], 64, "2 arguments are given, and the query does not use $1"),
    ])
    func anArgumentThatDoesNotFitIsRefused(
        query: String, arguments: [String], code: Int32, message: String
    ) async throws {
        try await withServer { server in
            try await load(server)
            let result = try await ChildProcess(
                Tool.path, ["query", server.url(), query] + arguments.map { "--arg=\($0)" }
            ).finish()
            #expect(result.code == code)
            #expect(result.diagnostics.contains(message), "\(result.diagnostics)")
            #expect(result.lines.isEmpty)
        }
    }
}
