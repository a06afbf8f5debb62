import Foundation
import Sluice
import TestSupport
import Testing

/// Servers and clients over TLS, with certificates that the test makes.
@Suite(.serialized)
struct TLSTests {
    /// Makes an authority, certificates for this machine and for another, and an authority that has signed neither.
    ///
    /// - Returns: false if there is no `openssl`.
    private func makeCertificates(in folder: String) async throws -> Bool {
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        var commands = ["ca", "stranger"].map {
            "req -x509 \(key) -days 2 -subj /CN=\($0) -keyout \($0).key -out \($0).pem -addext basicConstraints=critical,CA:TRUE"
        }
        for (name, host, signer) in [
            ("good", "DNS:localhost,IP:127.0.0.1", "ca"), ("other", "DNS:other.example", "ca"),
            ("renewed", "DNS:localhost,IP:127.0.0.1", "stranger"),
        ] {
            try "subjectAltName=\(host)\n".write(toFile: "\(folder)/\(name).ext", atomically: true, encoding: .utf8)
            commands.append("req \(key) -subj /CN=\(name) -keyout \(name).key -out \(name).csr")
            commands.append(
                "x509 -req -in \(name).csr -CA \(signer).pem -CAkey \(signer).key -CAcreateserial -days 2 -extfile \(name).ext -out \(name).pem"
            )
        }
        for command in commands {
            guard let exit = try await run("openssl", command.split(separator: " ").map(String.init), in: folder) else {
                print("skipped: there is no openssl command to make certificates with")
                return false
            }
            guard exit.code == 0 else { throw Failure("openssl \(command): \(exit.diagnostics)") }
        }
        return true
    }

    private func options(_ name: String, _ folder: String) -> [String] {
        ["--tls-certificate=\(folder)/\(name).pem", "--tls-key=\(folder)/\(name).key"]
    }

    @Test func aClientThatTrustsTheAuthorityReadsAndOthersSayWhyNot() async throws {
        try await withFolder { folder in
            guard try await makeCertificates(in: folder) else { return }
            try await withServer(options: options("good", folder)) { server in
                #expect(server.address.hasPrefix("wss://127.0.0.1:"))
                let authority = "--ca-file=\(folder)/ca.pem"
                let file = folder + "/planes.csv"
                try "tail,seats\nN1,5\n".write(toFile: file, atomically: true, encoding: .utf8)
                let imported = try await Tool.run("import", server.url(), "Plane", file, "--key=tail", authority)
                #expect(imported.code == 0, "\(imported.diagnostics)")
                for host in ["127.0.0.1", "localhost"] {
                    let url = "wss://\(host):\(server.port)/test"
                    let found = try await Tool.run("query", url, "Plane", authority)
                    #expect(found.code == 0, "\(found.diagnostics)")
                    #expect(found.lines.count == 1 && found.lines[0].contains(#""tail":"N1""#))
                }
                for (arguments, message) in [
                    ([server.url(), "Plane"], "unknown authority"),
                    ([server.url(), "Plane", "--ca-file=\(folder)/stranger.pem"], "unknown authority"),
                    ([server.url(), "Plane", "--ca-file=\(folder)/missing.pem"], "\(folder)/missing.pem"),
                    (["ws://127.0.0.1:\(server.port)/test", "Plane"], "wss://"),
                ] {
                    try await expectFailure(arguments, message)
                }
            }
            try await withServer(options: options("other", folder)) { server in
                let arguments = [server.url(), "Plane", "--ca-file=\(folder)/ca.pem"]
                try await expectFailure(arguments, "not valid for host 127.0.0.1")
            }
            try await withServer { server in
                try await expectFailure(["wss://127.0.0.1:\(server.port)/test", "Plane"], "ws:// instead of wss://")
                try await server.expectService()
            }
        }
    }

    /// Expects a command to fail at once, and not only at its time-out.
    private func expectFailure(_ arguments: [String], _ message: String) async throws {
        let start = ContinuousClock.now
        let exit = try await ChildProcess(Tool.path, ["query"] + arguments).finish()
        #expect(exit.code == 1, "\(arguments)")
        #expect(exit.diagnostics.contains(message), "\(arguments): \(exit.diagnostics)")
        #expect(exit.lines.isEmpty)
        // Who gives commands knows options, and no names of the Swift API.
        #expect(!exit.diagnostics.contains("SyncConfiguration"), "\(exit.diagnostics)")
        #expect(ContinuousClock.now - start < .seconds(8), "\(arguments) took long")
    }

    @Test func aCertificateThatIsReadAgainIsShownToNewConnectionsAndOpenOnesGoOn() async throws {
        try await withFolder { folder in
            guard try await makeCertificates(in: folder) else { return }
            for suffix in ["pem", "key"] {
                try FileManager.default.copyItem(
                    atPath: "\(folder)/good.\(suffix)", toPath: "\(folder)/shown.\(suffix)")
            }
            try await withServer(options: options("shown", folder)) { server in
                let file = folder + "/planes.csv"
                try "tail,seats\nN1,5\n".write(toFile: file, atomically: true, encoding: .utf8)
                let (old, new) = ("--ca-file=\(folder)/ca.pem", "--ca-file=\(folder)/stranger.pem")
                #expect(try await Tool.run("import", server.url(), "Plane", file, "--key=tail", old).code == 0)
                let watcher = try ChildProcess(
                    Tool.path, ["query", server.url(), "Plane", "--watch", "--format=jsonl", old], input: nil)
                defer { watcher.signal(9) }
                try await watcher.line(with: "\"state\":\"complete\"")
                for suffix in ["pem", "key"] {
                    let bytes = try Data(contentsOf: URL(filePath: "\(folder)/renewed.\(suffix)"))
                    try bytes.write(to: URL(filePath: "\(folder)/shown.\(suffix)"))
                }
                server.process.signal(1)
                try await server.process.line(
                    .diagnostics, with: "the settings were read again", "tls-certificate, tls-key")
                try await expectFailure([server.url(), "Plane", old], "unknown authority")
                let insert = #"{"op":"insert","class":"Plane","key":"N2","set":{"seats":6}}"# + "\n"
                #expect(try await Tool.run("write", server.url(), new, input: insert).code == 0)
                try await watcher.line(with: "\"N2\"")
            }
        }
    }

    @Test func theConnectionIsMadeAsTheConfigurationSays() async throws {
        try await withFolder { folder in
            guard try await makeCertificates(in: folder) else { return }
            try await withServer(options: options("other", folder)) { server in
                func open(_ change: (inout SyncConfiguration) -> Void) async throws {
                    var sync = SyncConfiguration(url: server.url())
                    sync.trust = .pinned(file: folder + "/other.pem")
                    change(&sync)
                    try await Store.open(StoreConfiguration(sync: sync)).connected(timeout: .seconds(30))
                }
                // The certificate is for another host; a pin ignores the host.
                try await open { $0.headers["X-Gateway"] = "1" }
                for (problem, change) in [
                    ("not valid for host", { $0.trust = .authorities(files: [folder + "/ca.pem"]) }),
                    ("the server's certificate", { $0.trust = .pinned(file: folder + "/stranger.pem") }),
                    ("self-signed", { $0.trust = .selfSignedOnly }),
                    ("\"nosuch0\"", { $0.networkInterface = "nosuch0" }),
                    ("Upgrade", { $0.headers["Upgrade"] = "gopher" }),
                ] as [(String, (inout SyncConfiguration) -> Void)] {
                    let error = await #expect(throws: (any Error).self, "\(problem)") { try await open(change) }
                    #expect("\(error as Any)".contains(problem), "\(problem): \(error as Any)")
                }
            }
        }
    }

    @Test func aServerWhoseCertificateCannotBeUsedSaysSoAndDoesNotStart() async throws {
        try await withFolder { folder in
            guard try await makeCertificates(in: folder) else { return }
            try "nonsense".write(toFile: folder + "/garbage.pem", atomically: true, encoding: .utf8)
            for (certificate, key, message) in [
                ("missing.pem", "good.key", "missing.pem"), ("good.pem", "missing.key", "missing.key"),
                ("garbage.pem", "good.key", "garbage.pem"), ("good.pem", "garbage.pem", "garbage.pem"),
                ("good.pem", "other.key", "key"), (".", "good.key", folder),
            ] {
                let exit = try await Tool.run(
                    "serve", "--data=\(folder)/data", "--listen=127.0.0.1:0", "--dev",
                    "--tls-certificate=\(folder)/\(certificate)", "--tls-key=\(folder)/\(key)")
                #expect(exit.code == 1, "\(certificate) \(key)")
                #expect(
                    exit.diagnostics.hasPrefix("sluice: ") && exit.diagnostics.contains(message), "\(exit.diagnostics)")
                #expect(exit.lines.isEmpty)
            }
        }
    }
}
