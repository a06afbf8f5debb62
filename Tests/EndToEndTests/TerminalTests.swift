import Foundation
import TestSupport
import Testing

/// The commands on a terminal, which the test makes with `script`.
@Suite struct TerminalTests {
    /// The output of the tool on a terminal, lines and diagnostics together; nil if there is no `script`.
    private func onTerminal(kind: String = "xterm", _ arguments: String...) async throws -> String? {
        let command = (["TERM=\(kind)", Tool.path] + arguments.map { "'\($0)'" }).joined(separator: " ")
        guard let exit = try await run("script", ["-qec", command, "/dev/null"]) else {
            print("skipped: there is no script command to make a terminal with")
            return nil
        }
        #expect(exit.code == 0, "\(exit)")
        return exit.lines.joined(separator: "\n") + exit.diagnostics
    }

    @Test func anImportShowsItsProgressAndAQueryIsATable() async throws {
        try await withFolder { folder in
            try await withServer { server in
                let file = folder + "/planes.csv"
                let rows = (1...20_000).map { "N\($0),\($0 % 300)" }
                try (["tail,seats"] + rows).joined(separator: "\n").write(
                    toFile: file, atomically: true, encoding: .utf8)
                guard let imported = try await onTerminal("import", server.url(), "Plane", file, "--key=tail") else {
                    return
                }
                // The tool draws the bar over its earlier states.
                #expect(imported.contains("\r") && imported.contains("100 %"), "\(imported)")
                #expect(imported.contains("20,000 rows"))
                let export = "TERM=xterm '\(Tool.path)' export \(server.url()) Plane > '\(folder)/out'; echo"
                if let exported = try await run("script", ["-qec", export, "/dev/null"]) {
                    let shown = exported.lines.joined(separator: "\n")
                    #expect(shown.contains("exporting [") && shown.contains("objects, "), "\(shown)")
                    let file = try String(contentsOfFile: folder + "/out", encoding: .utf8)
                    #expect(file.split(separator: "\n").count == 20_000)
                }
                let plain = try #require(
                    try await onTerminal(kind: "dumb", "import", server.url(), "Plane", file))
                #expect(!plain.contains("\u{1B}") && plain.contains("imported 20,000 rows"), "\(plain)")
                let query = "Plane WHERE seats == 299 SORT(tail ASC) LIMIT(2)"
                let table = try #require(try await onTerminal("query", server.url(), query))
                #expect(table.contains("tail") && table.contains("seats"), "\(table)")
                #expect(!table.contains("{"), "\(table)")
                let piped = try await Tool.run("query", server.url(), query)
                #expect(piped.lines.allSatisfy { $0.hasPrefix("{") } && piped.lines.count == 2)
            }
        }
    }
}
