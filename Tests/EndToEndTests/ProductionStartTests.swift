import Foundation
import Glibc
import TestSupport
import Testing

/// The lines of the README that start a server for the world, run as they are written.
struct ProductionStartTests {
    private func lines() throws -> [String] {
        let readme = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../README.md")
                .standardizedFileURL, encoding: .utf8)
        let block = readme.components(separatedBy: "```").first { $0.contains("export SLUICE_PASSWORD") }
        return try #require(block).split(separator: "\n").map(String.init)
    }

    @Test func `a start that cannot listen leaves no data folder behind`() async throws {
        try await withFolder { folder in
            try await withServer { server in
                let taken = try #require(server.address.split(separator: "/").last)
                try "none".write(toFile: folder + "/chain.pem", atomically: true, encoding: .utf8)
                let free = "--listen=127.0.0.1:0"
                for options in [
                    ["--listen=\(taken)"], [free, "--metrics-listen=\(taken)"],
                    [free, "--tls-certificate=\(folder)/chain.pem", "--tls-key=\(folder)/chain.pem"],
                ] {
                    let exit = try await Tool.run(["serve", "--data=\(folder)/new/data", "--dev"] + options)
                    #expect(exit.code == 1, "\(options): \(exit.diagnostics)")
                    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
                    #expect(names == ["chain.pem"], "\(options): \(names)")
                }
            }
        }
    }

    @Test func theLinesOfTheReadmeStartAServerThatKnowsItsUsers() async throws {
        try await withFolder { folder in
            let made = try await run(
                "openssl",
                ("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test -keyout key.pem "
                    + "-out chain.pem -addext subjectAltName=IP:127.0.0.1")
                    .split(separator: " ").map(String.init), in: folder)
            guard made?.code == 0 else { return print("skipped: there is no openssl command") }
            try "carrier,name\nAA,American\n".write(
                toFile: folder + "/airlines.csv", atomically: true, encoding: .utf8)
            _ = try await run("gzip", ["airlines.csv"], in: folder)
            let tools = URL(filePath: Tool.path).deletingLastPathComponent().path
            let start = "cd '\(folder)'; PATH='\(tools)':$PATH\n"
            let lines = try lines()
            let serve = try #require(lines.firstIndex { $0.hasPrefix("sluice serve") })
            let before = lines[..<serve].joined(separator: "\n").replacing("…", with: "'correct horse'")
            let prepared = try await ChildProcess("/bin/sh", ["-c", start + before]).finish()
            #expect(prepared.code == 0, "\(prepared.diagnostics)")
            let command = lines[serve].replacing("0.0.0.0:9443", with: "127.0.0.1:0")
            let server = try await ServerProcess.listening(ChildProcess("/bin/sh", ["-c", start + "exec " + command]))
            defer { server.process.signal(SIGKILL) }
            #expect(server.address.hasPrefix("wss://"))
            func client(_ command: String, password: String = "correct horse") async throws -> ChildProcess.Exit {
                let command = command.replacing("wss://db.example.com:9443", with: server.address)
                return try await ChildProcess(
                    "/bin/sh",
                    ["-c", start + "export SLUICE_PASSWORD='\(password)'; \(command) --ca-file=chain.pem"]
                ).finish()
            }
            let commands = lines[(serve + 1)...]
            #expect(commands.count == 3)
            let importing = try #require(commands.first)
            // The second time every row is there already.
            for _ in 1...2 {
                let imported = try await client(importing)
                #expect(imported.code == 0, "\(imported.diagnostics)")
                #expect(!imported.diagnostics.contains("reject"), "\(imported.diagnostics)")
            }
            let asked = try await client(try #require(commands.first { $0.contains("sluice can") }) + " --format=table")
            #expect(asked.lines.first?.hasPrefix("denied: ") == true && asked.code == 1, "\(asked)")
            // The server was started with this file, and has stored it.
            let deployed = try await client(try #require(commands.first { $0.contains("rules deploy") }))
            #expect(deployed.code == 0 && deployed.diagnostics.contains("version 1 is the same"), "\(deployed)")
            for report in ["status", "subscriptions"] {
                let told = try await client("sluice \(report) wss://db.example.com:9443/nyc --user=ada")
                #expect(told.code == 0, "\(told.diagnostics)")
            }
            let job = try await client(
                "sluice run wss://db.example.com:9443/nyc \"Airline WHERE name == 'none'\" --name=names --once --user=ada --ca-file=chain.pem -- true"
            )
            #expect(job.code == 0, "\(job.diagnostics)")
            let found = try await client("sluice query wss://db.example.com:9443/nyc Airline --user=ada")
            #expect(found.lines.joined().contains("American"))
            #expect(try await client(importing, password: "wrong horse").code == 1)
            // What no rule allows is denied, also to ada.
            let deleted = try await client(
                #"echo '{"op":"delete","class":"Airline","key":"AA"}' | sluice write wss://db.example.com:9443/nyc --user=ada"#
            )
            #expect(deleted.code == 1, "\(deleted.diagnostics)")
        }
    }
}
