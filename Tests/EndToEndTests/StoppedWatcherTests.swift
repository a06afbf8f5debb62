import Foundation
import Glibc
import TestSupport
import Testing

/// `sluice query --watch` in a process that is stopped for a while, and then reads several commits at once.
@Suite struct StoppedWatcherTests {
    private struct Line: Decodable {
        struct Entry: Decodable { var n: Int }
        var inserted: [Entry]?
        var modified: [Entry]?
        var count: Int
    }

    @Test func whatIsDeletedAndCreatedWhileAWatcherIsStoppedIsShown() async throws {
        try await withServer { server in
            let lines = [
                #"{"op":"delete","class":"Row","key":"k"}"#,
                #"{"op":"insert","class":"Row","key":"k","set":{"n":85}}"#,
            ]
            try await withFolder { folder in
                let rows = folder + "/rows.csv"
                try "id,n\nk,32\nx,1\n".write(toFile: rows, atomically: true, encoding: .utf8)
                #expect(try await Tool.run("import", server.url(), "Row", rows, "--key=id").code == 0)
            }
            let watcher = try ChildProcess(Tool.path, ["query", server.url(), "Row", "--watch"], input: nil)
            defer { watcher.signal(SIGKILL) }
            try await watcher.line(with: "\"complete\"")
            watcher.signal(SIGSTOP)
            let written = try await Tool.run("write", server.url(), input: lines.joined(separator: "\n") + "\n")
            #expect(written.code == 0, "\(written.diagnostics)")
            watcher.signal(SIGCONT)
            var last = ""
            while !last.contains("85") { last = try await watcher.line(with: "\"count\"") }
            #expect(try JSONDecoder().decode(Line.self, from: Data(last.utf8)).count == 2, "\(last)")
            #expect(watcher.diagnostics.isEmpty, "\(watcher.diagnostics)")
        }
    }
}
