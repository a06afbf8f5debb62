import Foundation
import Sluice
import SluiceModel
import SluiceServer
import SluiceTesting
import TestSupport
import Testing

#if SLUICE_MACROS
    /// What an operator reads at `info`: the table in docs/monitoring.md, line by line.
    @Suite(.timeLimit(.minutes(10))) struct ServerLogTests {
        private let logs = LogCollector()

        /// The lines of the table about a server: level, domain, message, names.
        private static func documented() throws -> Set<String> {
            let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
            let page = try String(contentsOfFile: "\(root)/docs/monitoring.md", encoding: .utf8)
            let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `info` |") || $0.hasPrefix("| `debug` |") }
            return Set(
                rows.map { row in
                    row.split(separator: "|").prefix(3)
                        .map { $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "`", with: "") }
                        .joined(separator: " | ")
                })
        }

        private static func summary(_ line: LogLine) -> String {
            "\(line.level.rawValue) | \(line.domain) | \(line.message)"
        }

        /// The values of a line by name.
        private func values(_ message: String) throws -> [String: String] {
            let line = try #require(logs.lines.first { $0.message == message }, "\(message)")
            return Dictionary(line.metadata.map { ($0.name, $0.value) }) { first, _ in first }
        }

        private func server(_ network: LoopbackNetwork, folder: String) throws -> SyncServer {
            var configuration = ServerConfiguration(dataFolder: folder, host: "server", isDevelopment: true)
            configuration.loopback = network
            configuration.log = LogSink(level: .info, to: logs)
            configuration.quotas.sessionCountMaxPerUser = 7
            return try SyncServer(configuration)
        }

        private func store(_ network: LoopbackNetwork) async throws -> Store {
            var sync = SyncConfiguration(url: "ws://server/shop")
            sync.loopback = network
            return try await Store.open(StoreConfiguration(models: lifecycleModels, sync: sync))
        }

        @Test func aServersLifeIsToldAtInfo() async throws {
            let folder = FileManager.default.temporaryDirectory.path + "/sluice-log-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let network = LoopbackNetwork()
            for _ in 1...2 {
                let server = try server(network, folder: folder)
                try server.start()
                let store = try await store(network)
                try await store.upload(vins: "secret")
                await store.close()
                // What the client has sent is on its way, and may be overtaken by the server's own end.
                try await wait(for: "the end of the session") { logs.lines.last?.message == "a session ended" }
                await server.stop()
            }
            #expect(
                logs.lines.map(\.message) == [
                    "started", "listening", "a session was opened", "a database was made", "a session ended", "stopped",
                    "started", "listening", "a session was opened", "a database was opened", "a session ended",
                    "stopped",
                ])
            let documented = try Self.documented()
            for line in logs.lines {
                #expect(line.level == .info)
                #expect(documented.contains(Self.summary(line)), "\(Self.summary(line)) is not in docs/monitoring.md")
            }
            let started = try values("started")
            #expect(started["data"] == folder && started["version"] == SluiceRelease.version)
            #expect(started["connections"] == "100000" && started["sessionCountMaxPerUser"] == "7")
            #expect(try values("listening") == ["address": "server in memory", "tls": "false"])
            let opened = try values("a session was opened")
            #expect(
                opened["database"] == "shop" && opened["login"] == "anonymous" && opened["mode"] == "read and write")
            #expect(opened["user"] == nil && opened["peer"] != nil)
            let ended = try values("a session ended")
            #expect(ended["reason"] == "its client closed it" && Int(ended["milliseconds"] ?? "") != nil)
            #expect(try values("a database was opened")["version"] != nil)
            #expect(!logs.lines.contains { "\($0)".contains("secret") })
        }

        @Test func theEndOfASessionHasItsReason() async throws {
            let rules = #"{"classes": {"Vehicle": {"read": true}}}"#
            let server = try TestServer(rules: rules, log: LogSink(level: .info, domains: [.database: nil], to: logs))
            let store = try await server.open(lifecycleModels, user: "ada", claims: #"{"place": "secret"}"#)
            try await store.connected()
            #expect(try values("a session was opened")["user"] == "ada")
            server.cut(store)
            try await server.settled()
            let ends = logs.lines.filter { $0.message == "a session ended" }
            #expect(ends.count == 1)
            #expect(try values("a session ended")["user"] == "ada")
            #expect(try values("a session ended")["reason"]?.isEmpty == false)
            #expect(!logs.lines.contains { "\($0)".contains("secret") })
        }

        @Test func writesThatMergeAreNotToldAtInfo() async throws {
            let server = try TestServer(log: LogSink(level: .debug, to: logs))
            let stores = [try await server.open(), try await server.open()]
            for store in stores { try await store.connected() }
            server.cut(stores[0], stores[1])
            for store in stores { try await store.write { try $0.insert(Vehicle(vin: "a", plate: "P")) } }
            server.restore(stores[0], stores[1])
            for store in stores { try await store.uploaded() }
            let merged = "objects were created whose keys other objects had, so they became one"
            #expect(logs.lines.filter { $0.message == merged }.map(\.level) == [.debug])
            #expect(try Self.documented().contains("debug | database | \(merged)"))
        }

        /// Every line at `info`, `warning` and `error` that a source has is on the page, with its level.
        @Test(arguments: [
            ("SluiceServer", 90), ("SluiceAccess", 2), ("SluicePostgres", 8), ("SluiceBackend", 1), ("Sluice", 20),
            ("SluiceCLI", 8),
        ])
        func thePageHasEveryLineOfTheSource(_ folder: String, atLeast least: Int) throws {
            let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
            let page = try String(contentsOfFile: "\(root)/docs/monitoring.md", encoding: .utf8)
            let text = page.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            // What follows a level, and perhaps a domain, in a row of a table.
            let rows = text.matches(of: #/\|\s`(\w+)`\s\|\s(?:(?:database|network|login)\s\|\s)?/#)
                .map { (level: $0.1, rest: text[$0.range.upperBound...]) }
            // A level, perhaps one of two, and a message, perhaps in several parts.
            let line =
                #/
                (?:\.(?<level>info|warning|error)(?:\s:\s\.debug)?,|noteFailure\((?="[^"]+",)|[^\w.](?:log|note)\()\s*
                "(?<message>(?:[^"\\]|\\.)+)"(?<rest>(?:\s*\+\s*"(?:[^"\\]|\\.)+")*)(?!,\s\w+,\sat:)
                /#
            var count = 0
            for file in try FileManager.default.subpathsOfDirectory(atPath: "\(root)/Sources/\(folder)")
            where file.hasSuffix(".swift") && !file.hasSuffix("+Check.swift") {
                let source = try String(contentsOfFile: "\(root)/Sources/\(folder)/\(file)", encoding: .utf8)
                for match in source.matches(of: line) where !match.message.hasPrefix("\\(") {
                    let rest = match.rest.matches(of: #/"((?:[^"\\]|\\.)+)"/#).map(\.1).joined()
                    // What is interpolated stands for anything.
                    let message = "\(match.message)\(rest)".replacing(#/\\\([^)]*\)/#, with: "N s")
                    let isInTable = rows.contains { row in
                        (match.level == nil || match.level == row.level) && row.rest.hasPrefix(message)
                    }
                    #expect(
                        isInTable || text.contains("`\(message)`"), "\(file): \(match.level ?? "") \(message)")
                    count += 1
                }
            }
            #expect(count >= least)
        }
    }
#endif
