import Foundation
import SluiceServer
import TestSupport
import Testing

@testable import SluiceCLI

/// What a server that runs takes over of its settings, over several readings.
struct SettingsReloadTests {
    private static let rules = #"{"database":{"schema":true},"classes":{"Plane":{"read":true}}}"#
    private static let otherRules = #"{"database":{"schema":true},"classes":{"Plane":{"read":false}}}"#

    /// A running server with the file of its settings.
    private struct Bench {
        let folder: String
        let server: SyncServer
        private let reload: SettingsReload

        init(_ folder: String, _ lines: String) async throws {
            self.folder = folder
            let file = folder + "/s.conf"
            try Self.write(Self.common(folder) + lines, to: file)
            let arguments = try ArgumentParser(ServeCommand.description).parse(["--config=\(file)"])
            let sources = SettingSources(
                description: ServeCommand.description, arguments: arguments, environment: { _ in nil })
            let settings = try ServeSettings(try sources.read())
            server = try SyncServer(settings.configuration)
            reload = SettingsReload(sources, settings)
            try server.start()
            await reload.begin(for: server)
        }

        private static func common(_ folder: String) -> String {
            "data = \(folder)/data\nallow-anonymous = true\nlog-level = error\nlog-domains = network=off\n"
        }

        private static func write(_ text: String, to path: String) throws {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }

        func write(_ text: String, to name: String) throws { try Self.write(text, to: "\(folder)/\(name)") }

        /// Changes the file, and has it read.
        func reads(_ lines: String) async throws -> SettingsReload.Outcome {
            try write(Self.common(folder) + lines, to: "s.conf")
            return try await reload.run()
        }
    }

    private func outcome(_ changed: [String], _ waiting: [String] = []) -> SettingsReload.Outcome {
        .init(changed: changed, waiting: waiting)
    }

    @Test func whatNeedsARestartIsSaidEachTime() async throws {
        try await withFolder { folder in
            let everything = "allow-everything = true\n"
            let bench = try await Bench(folder, "listen = 127.0.0.1:0\n" + everything)
            let other = "listen = 127.0.0.1:1\nworker-id = w\n"
            for _ in 1...3 {
                #expect(try await bench.reads(other + everything) == outcome([], ["listen", "worker-id"]))
            }
            let more = try await bench.reads(other + everything + "max-classes = 7\ndrain = 1s\n")
            #expect(more == outcome(["drain", "max-classes"], ["listen", "worker-id"]))
            let back = try await bench.reads("listen = 127.0.0.1:0\n" + everything)
            #expect(back == outcome(["drain", "max-classes"]))
            await bench.server.stop()
        }
    }

    @Test func rulesWaitForARestartWhereThereWereNone() async throws {
        try await withFolder { folder in
            let everything = "listen = 127.0.0.1:0\nallow-everything = true\n"
            let bench = try await Bench(folder, everything)
            try bench.write(Self.rules, to: "rules.json")
            let ruled = "listen = 127.0.0.1:0\nrules = \(folder)/rules.json\n"
            for text in [Self.rules, Self.rules, Self.otherRules] {
                try bench.write(text, to: "rules.json")
                #expect(try await bench.reads(ruled) == outcome([], ["rules", "allow-everything"]))
            }
            #expect(try await bench.reads(everything) == outcome([]))
            await bench.server.stop()
        }
    }

    @Test func rulesThatAreTakenAwayHoldUntilARestart() async throws {
        try await withFolder { folder in
            try Self.rules.write(toFile: folder + "/rules.json", atomically: true, encoding: .utf8)
            let ruled = "listen = 127.0.0.1:0\nrules = \(folder)/rules.json\n"
            let bench = try await Bench(folder, ruled)
            #expect(try await bench.reads(ruled) == outcome([]))
            let everything = "listen = 127.0.0.1:0\nallow-everything = true\n"
            for _ in 1...2 {
                #expect(try await bench.reads(everything) == outcome([], ["rules", "allow-everything"]))
            }
            #expect(try await bench.reads(ruled) == outcome([]))
            try bench.write(Self.otherRules, to: "rules.json")
            #expect(try await bench.reads(ruled) == outcome(["rules"]))
            #expect(try await bench.reads(ruled) == outcome([]))
            await bench.server.stop()
        }
    }

    @Test func aCertificateThatComesOrGoesWaitsAndARenewedOneIsShown() async throws {
        try await withFolder { folder in
            guard try await makeCertificates(in: folder) else { return }
            let plain = "listen = 127.0.0.1:0\nallow-everything = true\n"
            let secured = plain + "tls-certificate = \(folder)/shown.pem\ntls-key = \(folder)/shown.key\n"
            let names = ["tls-certificate", "tls-key"]
            // Started without.
            let first = try await Bench(folder, plain)
            for _ in 1...3 { #expect(try await first.reads(secured) == outcome([], names)) }
            #expect(try await first.reads(plain + "drain = 2s\n") == outcome(["drain"]))
            await first.server.stop()
            // Started with it.
            let second = try await Bench(folder, secured)
            #expect(try await second.reads(secured) == outcome([]))
            try show("b", in: folder)
            #expect(try await second.reads(secured) == outcome(names))
            #expect(try await second.reads(secured) == outcome([]))
            for _ in 1...2 { #expect(try await second.reads(plain) == outcome([], names)) }
            try show("a", in: folder)
            #expect(try await second.reads(secured) == outcome(names))
            // What cannot be used is named by the line, and changes nothing.
            try second.write("nonsense", to: "shown.pem")
            let error = await #expect(throws: CommandError.self) { try await second.reads(secured) }
            #expect(error?.message.hasPrefix("\(folder)/s.conf:7: ") == true, "\(error?.message ?? "")")
            try show("a", in: folder)
            #expect(try await second.reads(secured) == outcome([]))
            await second.server.stop()
        }
    }

    @Test func aSecretWithAnotherContentWaits() async throws {
        try await withFolder { folder in
            let secret = folder + "/secret"
            try String(repeating: "a", count: 32).write(toFile: secret, atomically: true, encoding: .utf8)
            let lines = "listen = 127.0.0.1:0\nallow-everything = true\nshared-secret-file = \(secret)\n"
            let bench = try await Bench(folder, lines)
            #expect(try await bench.reads(lines) == outcome([]))
            try bench.write(String(repeating: "b", count: 32), to: "secret")
            for _ in 1...2 { #expect(try await bench.reads(lines) == outcome([], ["shared-secret-file"])) }
            await bench.server.stop()
        }
    }

    /// Makes the certificates a and b, of which a is shown.
    ///
    /// - Returns: false if there is no `openssl`.
    private func makeCertificates(in folder: String) async throws -> Bool {
        for name in ["a", "b"] {
            let words =
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=\(name) "
                + "-keyout \(name).key -out \(name).pem -addext subjectAltName=IP:127.0.0.1"
            guard let exit = try await run("openssl", words.split(separator: " ").map(String.init), in: folder) else {
                return false
            }
            #expect(exit.code == 0, "\(exit.diagnostics)")
        }
        try show("a", in: folder)
        return true
    }

    private func show(_ name: String, in folder: String) throws {
        for suffix in ["pem", "key"] {
            let text = try String(contentsOfFile: "\(folder)/\(name).\(suffix)", encoding: .utf8)
            try text.write(toFile: "\(folder)/shown.\(suffix)", atomically: true, encoding: .utf8)
        }
    }
}
