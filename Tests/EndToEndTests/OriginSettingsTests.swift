import Foundation
import Glibc
import TestSupport
import Testing

/// Which pages may use a running server, after its settings are read again.
@Suite(.serialized) struct OriginSettingsTests {
    @Test func aRunningServerTakesOverWhichOriginsAreAllowed() async throws {
        try await withFolder { folder in
            let file = folder + "/s.conf"
            func write(_ origins: String...) throws {
                let lines = ["data = \(folder)/data", "listen = 127.0.0.1:0", "dev = true"]
                try (lines + origins.map { "allow-origin = \($0)" }).joined(separator: "\n")
                    .write(toFile: file, atomically: true, encoding: .utf8)
            }
            func status(_ origin: String, _ port: UInt16) async throws -> Int {
                try await HTTPAnswer.get("/any/query?q=Car", port: port, "Origin: \(origin)").status
            }
            try write("https://one.example")
            let process = try ChildProcess(Tool.path, ["serve", "--config=\(file)"])
            defer { process.signal(SIGKILL) }
            let server = try await ServerProcess.listening(process)
            let port = server.port
            // The database is not there, which a page that may ask is told.
            #expect(try await status("https://one.example", port) == 404)
            #expect(try await status("https://two.example", port) == 403)

            try write("https://two.example", "http://localhost:5173")
            process.signal(SIGHUP)
            try await process.line(.diagnostics, with: "the settings were read again", "allow-origin")
            #expect(try await status("https://one.example", port) == 403)
            #expect(try await status("https://two.example", port) == 404)
            #expect(try await status("http://localhost:5173", port) == 404)

            // What is no origin changes nothing, and is told with its line.
            try write("https://three.example", "two.example/page")
            process.signal(SIGHUP)
            try await process.line(.diagnostics, with: "the settings could not be read again", "s.conf:5")
            #expect(try await status("https://two.example", port) == 404)
            #expect(try await status("https://three.example", port) == 403)
            process.signal(SIGTERM)
            #expect(try await process.finish().code == 0)
        }
    }
}
