import Foundation
import TestSupport
import Testing

/// The benchmarks use the API as users would, so these tests show a change that breaks them.
@Suite(.timeLimit(.minutes(20))) struct BenchmarkTests {
    private let path = URL(fileURLWithPath: Tool.path).deletingLastPathComponent().appendingPathComponent("Benchmarks")
        .path

    private struct Results: Decodable {
        struct Entry: Decodable {
            let row: String
            let name: String
            let ours: Double
        }

        let measurements: [Entry]
    }

    /// - Parameter withPostgres: whether to run it beside a PostgreSQL of its own, as rows do that a build with the trait
    ///   `PostgreSQL` has more.
    private func run(_ arguments: String..., withPostgres: Bool = false) async throws -> ChildProcess.Exit {
        guard withPostgres else { return try await ChildProcess(path, arguments).finish() }
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        return try await ChildProcess("\(root)/Tools/with-postgres", [path] + arguments).finish()
    }

    /// The names of the program's rows, which it lists when it is asked for a row that does not exist.
    private func rows() async throws -> [String] {
        let exit = try await run("--only=none")
        let list = try #require(exit.diagnostics.firstMatch(of: #/there are ([A-Z0-9, ]+)/#)?.1)
        return list.split(separator: ", ").map(String.init)
    }

    /// A few rows run at a time: one after the other they would take longer than all other tests of processes.
    @Test func everyRowRunsOnSmallData() async throws {
        var rows = try await rows()[...]
        try #require(rows.count >= 9)
        try await withFolder { folder in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for row in rows.prefix(3) { group.addTask { try await runOnSmallData(row, folder) } }
                rows = rows.dropFirst(3)
                while try await group.next() != nil {
                    if let row = rows.popFirst() { group.addTask { try await runOnSmallData(row, folder) } }
                }
            }
        }
    }

    private func runOnSmallData(_ row: String, _ folder: String) async throws {
        let file = "\(folder)/\(row).json"
        let exit = try await run(
            "--quick", "--runs=1", "--only=\(row)", "--json=\(file)", withPostgres: row.first == "S")
        try #require(exit.code == 0, "\(row): \(exit.diagnostics)")
        let data = try #require(FileManager.default.contents(atPath: file))
        let results = try JSONDecoder().decode(Results.self, from: data)
        #expect(Set(results.measurements.map(\.row)) == [row])
        // S1 is a difference of two times, which on small data may be of either sign.
        #expect(results.measurements.allSatisfy { ($0.ours >= 0 || row == "S1") && $0.ours.isFinite })
    }

    @Test func aSecondRunSaysWhatMovedSinceTheFirst() async throws {
        try await withFolder { folder in
            let file = folder + "/results.json"
            let first = try await run("--quick", "--runs=1", "--only=R14", "--json=\(file)")
            #expect(first.code == 0 && !first.lines.contains { $0.hasPrefix("Since the run of") })
            // Pretends that the first row was a hundred times as fast, and that fetching was not measured.
            let text = try String(contentsOfFile: file, encoding: .utf8)
                .replacing(#/"ratio" : [0-9.e-]+/#, with: "\"ratio\" : 100").replacing("fetch of", with: "search of")
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let second = try await run("--quick", "--runs=1", "--only=R14", "--json=\(file)")
            #expect(second.code == 0)
            #expect(second.lines.contains { $0.contains("R14 local insert") && $0.contains("ratio 100.0 -> ") })
            #expect(second.lines.contains("  measurements that were not in it: 1"), "\(second.lines)")
        }
    }

    @Test func `peers that do not run are named with what starts them`() async throws {
        let exit = try await run("--quick", "--runs=1", "--only=R3", "--peers")
        #expect(exit.code == 1 && exit.diagnostics.contains("run `make bench PEERS=1`"))
    }

    @Test func aFileThatHoldsNoResultsIsNotOverwritten() async throws {
        try await withFolder { folder in
            let file = folder + "/notes.json"
            try "mine".write(toFile: file, atomically: true, encoding: .utf8)
            let exit = try await run("--quick", "--only=E1", "--json=\(file)")
            #expect(exit.code == 1 && exit.diagnostics.contains("holds no results"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
        }
    }
}
