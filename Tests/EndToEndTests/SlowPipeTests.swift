import Foundation
import Glibc
import TestSupport
import Testing

/// `sluice query --watch` whose output is read slowly, while a class gets a property.
@Suite struct SlowPipeTests {
    /// Passes lines on up to the first complete event, waits for a line of its input, and passes on the rest.
    private static let script = """
        exec 3<&0
        { sh -c 'echo "pid $$"; exec "$0" "$@"' "$0" "$@" < /dev/null; echo "exit $?"; } | {
            while IFS= read -r line; do
                printf '%s\\n' "$line"
                case $line in *'"complete"'*) break ;; esac
            done
            read -r go <&3
            cat
        }
        """

    @Test func aClassThatGetsAPropertyWhileAWatcherWaitsForItsPipeIsShownAsItWasAndAsItIs() async throws {
        try await withServer { server in
            try await withFolder { folder in
                func load(_ header: String, _ row: (Int) -> String) async throws {
                    let text = ([header] + (0..<4_000).map(row)).joined(separator: "\n") + "\n"
                    try text.write(toFile: folder + "/rows.csv", atomically: true, encoding: .utf8)
                    let exit = try await Tool.run("import", server.url(), "Row", folder + "/rows.csv", "--key=id")
                    #expect(exit.code == 0, "\(exit.diagnostics)")
                }
                let filler = String(repeating: "x", count: 60)
                try await load("id,text,n") { "\($0),\(filler),0" }
                let query = ["query", server.url(), "Row", "--watch", "--format=jsonl"]
                let watcher = try ChildProcess("/bin/sh", ["-c", Self.script, Tool.path] + query, input: nil)
                defer { watcher.signal(SIGKILL) }
                let first = try await watcher.line(with: "pid ")
                let pid = try #require(Int32(first.dropFirst(4)))
                try await watcher.line(with: "\"complete\"")
                // More than a pipe holds, then the property, and more.
                try await load("id,text,n") { "\($0),\(filler),1" }
                try await load("id,text,n,added") { "\($0),\(filler),2,new\($0)" }
                try await load("id,text,n,added") { "\($0),\(filler),3,newer\($0)" }
                watcher.write("go\n")
                try await watcher.line(with: "newer3999")
                kill(pid, SIGTERM)
                try await watcher.line(with: "exit 0")
                watcher.closeInput()
                #expect(try await watcher.finish().code == 0)
                #expect(watcher.diagnostics.isEmpty, "\(watcher.diagnostics)")
            }
        }
    }
}
