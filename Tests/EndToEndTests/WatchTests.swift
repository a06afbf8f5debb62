import Foundation
import Glibc
import TestSupport
import Testing

/// `sluice query --watch` while its server stops and starts again.
@Suite struct WatchTests {
    @Test func aLostServerIsReportedAndItsReturnToo() async throws {
        try await withFolder { folder in
            let port = try UnusedPort.next()
            let watcher = try await withServer(folder: folder, port: port) { server in
                let insert = folder + "/rows.csv"
                try "id,n\n1,1\n".write(toFile: insert, atomically: true, encoding: .utf8)
                #expect(try await Tool.run("import", server.url(), "Row", insert, "--key=id").code == 0)
                let watcher = try ChildProcess(Tool.path, ["query", server.url(), "Row", "--watch"], input: nil)
                try await watcher.line(with: "\"complete\"")
                return watcher
            }
            let lost = try await watcher.line(.diagnostics, with: "sluice: connection lost: ")
            #expect(lost.hasSuffix("; trying again"), "\(lost)")
            try await withServer(folder: folder, port: port) { _ in
                try await watcher.line(.diagnostics, with: "sluice: connected again")
                watcher.signal(SIGTERM)
                let end = try await watcher.finish()
                #expect(end.code == 0)
                #expect(end.diagnostics.split(separator: "\n").count == 2, "\(end.diagnostics)")
            }
        }
    }
}
