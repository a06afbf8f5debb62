import Foundation
import SluiceServer
import TestSupport
import Testing

@testable import SluiceCLI

/// A wrong value of each setting, from each place: the message says where it stands, what it is, and what would be right.
struct WrongSettingsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let option: String
        let value: String
        /// What the message says would be right.
        let right: String
        /// What the message shows of the value; nil for all of it.
        var shown: String?
        /// Further settings; one without a value is left out.
        var others: [String: String] = [:]

        init(
            _ option: String, _ value: String, _ right: String, shown: String? = nil, _ others: [String: String] = [:]
        ) {
            self.option = option
            self.value = value
            self.right = right
            self.shown = shown
            self.others = others
        }

        var testDescription: String { "\(option) = \(value)" }
    }

    private static let issuer = ["jwt-issuer": "https://a.example", "jwt-audience": "x"]
    private static let flags = ["dev", "users", "allow-anonymous", "allow-everything", "behind-tls-proxy", "dashboard"]
    private static let counts = [
        "max-connections-per-address", "max-sessions-per-user", "max-subscriptions-per-user",
        "max-operations-per-second", "max-databases", "max-classes", "max-properties",
    ]

    /// DIR is a folder with the files short, broken.json and none that is called none.
    static let cases: [Case] =
        flags.map { Case($0, "maybe", "true or false") } + counts.map { Case($0, "0", "a whole number above 0") } + [
            Case("data", "DIR/short", "name another folder"), Case("listen", "here", "such as 127.0.0.1:9080"),
            Case("listen", "::1:80", "[::1]:9080"), Case("listen", "127.0.0.1:70000", "HOST:PORT"),
            Case("listen", "203.0.113.1:0", "does not have that address", shown: "203.0.113.1"),
            Case("listen", "0.0.0.0:0", "name a certificate", shown: "'0.0.0.0'", ["users": "true"]),
            Case(
                "listen", "0.0.0.0:0", "loopback addresses only", shown: "'0.0.0.0'",
                ["dev": "true", "allow-anonymous": "", "allow-everything": ""]),
            Case("hand-over-to", "b.example", "such as wss://b.example"),
            Case("hand-over-to", "ws://b.example/shop", "without a database"),
            Case("tls-certificate", "DIR/none", "No such file", ["tls-key": "DIR/none"]),
            Case("tls-certificate", "DIR/short", "in PEM form", ["tls-key": "DIR/none"]),
            Case("tls-key", "DIR/short", "--tls-certificate", shown: ""),
            Case("log-level", "loud", "info"), Case("log-domains", "x=info", "network", shown: "'x'"),
            Case("log-domains", "network", "network=warning"), Case("log-format", "xml", "json"),
            Case("metrics-listen", "here", "HOST:PORT"),
            Case(
                "metrics-listen", "0.0.0.0:0", "127.0.0.1 or ::1", shown: "'0.0.0.0'",
                ["dev": "true", "allow-anonymous": "", "allow-everything": ""]),
            Case("metrics-file", "DIR/none/f", "make it"), Case("drain", "soon", "such as 30, 30s"),
            Case("shared-secret-file", "DIR/none", "no such file"),
            Case("shared-secret-file", "DIR/short", "32 or more"),
            Case("jwt-issuer", "zebra", "a URL or one of"),
            Case("jwt-issuer", "a b=https://a.example", "no blanks"),
            Case("jwt-issuer", "https://a.example", "--jwt-audience="),
            Case("jwt-issuer", "http://a.example", "an https URL", ["jwt-audience": "x"]),
            Case("jwt-issuer", "https://a.example", "NAME=URL", ["users": "true", "jwt-audience": "x"]),
            Case("jwt-audience", "x", "name it with --jwt-issuer"), Case("jwks", "x", "name it with --jwt-issuer"),
            Case("jwks", "http://a.example/keys", "https", issuer), Case("jwks", "DIR/none", "no such file", issuer),
            Case("jwks", "DIR/short", "key set", issuer),
            Case("jwt-secret-file", "x", "name it with --jwt-issuer"),
            Case("jwt-secret-file", "DIR/short", "32 or more", issuer),
            Case("jwt-ca-file", "DIR/none", "no such file"), Case("jwt-ca-file", "DIR/short", "PEM form"),
            Case("rules", "DIR/none", "no such file", ["allow-everything": ""]),
            Case("rules", "DIR/broken.json", "read", shown: "DIR/broken.json:2:", ["allow-everything": ""]),
            Case("allow-everything", "true", "leave out one", shown: "", ["rules": "DIR/rules.json"]),
            Case("max-waiting-bytes-per-user", "1Q", "64K, 16M"), Case("max-database-size", "1Q", "64K, 16M"),
            Case("max-database-size", "1K", "1M or more"), Case("max-consumer-log", "1Q", "64K, 16M"),
            Case("journal", "gopher://a.example", "PostgreSQL", shown: ""),
            Case("journal-listen", "postgres://a.example/b", "--journal=URL", shown: ""),
            Case("node", "a", "--journal=URL", shown: ""), Case("node-url", "ws://a", "--journal=URL", shown: ""),
            Case("node-url", "http://a", "such as wss://a.example", ["journal": "postgres://a.example/b"]),
            Case("backup-to", "DIR/none/b", "name another"), Case("backup-every", "1h", "--backup-to=DIR", shown: ""),
            Case("backup-every", "often", "length of time", ["backup-to": "DIR/b"]),
            Case("backup-every", "10ms", "a second or more", ["backup-to": "DIR/b"]),
            Case("backup-keep", "0", "above 0", ["backup-to": "DIR/b"]),
            Case("backup-keep", "3", "--backup-to=DIR", shown: ""), Case("archive", "DIR/none/a", "name another"),
            Case("audit-log", "DIR/none/f", "make it"), Case("audit-log", "DIR", "name a file in it"),
            Case("allow-origin", "app", "such as https://app.example"),
            Case("worker-id", "", "--worker-id=NAME"),
        ]

    private enum Place: CaseIterable {
        case commandLine, environment, file
    }

    @Test(arguments: cases) func isNamedWithItsPlaceAndWithWhatWouldBeRight(wrong: Case) async throws {
        try await withFolder { folder in
            func filled(_ text: String) -> String { text.replacing("DIR", with: folder) }
            for (name, text) in [
                ("short", "short"), ("broken.json", "{\"classes\":{\n\"Plane\":{\"read\":\"seats ==\"}}}"),
                ("rules.json", "{}"),
            ] {
                try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            }
            var base = [
                "data": "\(folder)/data", "listen": "127.0.0.1:0", "allow-anonymous": "true",
                "allow-everything": "true", "log-domains": "network=off",
            ].merging(wrong.others.mapValues(filled)) { _, other in other }
            base[wrong.option] = nil
            let words = base.filter { !$0.value.isEmpty }.map { "--\($0.key)=\($0.value)" }
            let value = filled(wrong.value)
            for place in Place.allCases {
                // A variable without a value counts as none.
                if place == .environment, value.isEmpty { continue }
                let file = folder + "/s.conf"
                try "# settings\n\n\(wrong.option) = \(value)\n".write(toFile: file, atomically: true, encoding: .utf8)
                let variable = "SLUICE_" + wrong.option.uppercased().replacing("-", with: "_")
                let (message, start) =
                    switch place {
                    case .commandLine: (try await refusal(words + ["--\(wrong.option)=\(value)"]), "")
                    case .environment: (try await refusal(words, [variable: value]), "\(variable): ")
                    case .file: (try await refusal(words + ["--config=\(file)"]), "\(file):3: ")
                    }
                #expect(message.hasPrefix(start), "\(place): \(message)")
                let shown = filled(wrong.shown ?? value)
                #expect(shown.isEmpty || message.contains(shown), "\(place): \(message)")
                #expect(message.contains(wrong.right), "\(place): \(message)")
            }
        }
    }

    @Test func everySettingIsAmongThem() throws {
        #expect(Set(Self.cases.map(\.option)) == Set(ServeSettings.options.map(\.name)))
    }

    /// Of a setting with several values, the line of the one that is wrong is named.
    @Test(arguments: [
        ("allow-origin = https://a.example\nallow-origin = app", 2, "'app'"),
        ("jwt-issuer = https://a.example\njwt-audience = x\njwt-issuer = https://a.example\n", 1, "named twice"),
        ("jwt-issuer = a=https://a.example\njwt-issuer = b=https://b.example\njwt-audience = a=x", 2, "--jwt-audience"),
        (
            "jwt-issuer = a=https://a.example\njwt-issuer = b=https://b.example\njwt-audience = x\n"
                + "jwks = a=https://a.example/keys\njwks = b=/nowhere/keys", 5, "'/nowhere/keys'"
        ),
    ])
    func ofSeveralValuesTheWrongOneIsNamed(text: String, line: Int, part: String) async throws {
        let file = try TemporaryFile(text, suffix: ".conf")
        let message = try await refusal(["--data=x", "--allow-everything", "--config=\(file.path)"])
        #expect(message.hasPrefix("\(file.path):\(line): ") && message.contains(part), "\(message)")
    }

    /// The message of a server that does not start.
    private func refusal(_ words: [String], _ environment: [String: String] = [:]) async throws -> String {
        do throws(CommandError) {
            let arguments = try ArgumentParser(ServeCommand.description).parse(words)
            let sources = SettingSources(
                description: ServeCommand.description, arguments: arguments, environment: { environment[$0] })
            let found = try sources.read()
            let server = try await ServeCommand.start(try ServeSettings(found).configuration, as: found).server
            await server.stop()
            return "the server has started"
        } catch { return error.message }
    }
}
