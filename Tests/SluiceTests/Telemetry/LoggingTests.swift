import Foundation
import Sluice
import SluiceModel
import SluiceServer
import SluiceTesting
import Synchronization
import Testing

#if SLUICE_MACROS
    /// Collects log lines.
    final class LogCollector: LogReceiver {
        private let all = Mutex<[LogLine]>([])

        var lines: [LogLine] { all.withLock { $0 } }

        func receive(_ line: LogLine) { all.withLock { $0.append(line) } }
    }

    /// Logs by domain and level.
    @Suite(.timeLimit(.minutes(10))) struct LoggingTests {
        private let logs = LogCollector()

        @Test func eachLineSaysItsDomain() async throws {
            let sink = LogSink(level: .verbose, to: logs)
            let server = try TestServer(log: sink)
            let store = try await server.open(lifecycleModels) { $0.log = sink }
            try await store.connected()
            _ = try await store.objects(Vehicle.self).synced()
            server.cut(store)
            try await server.settled()
            let domains = Set(logs.lines.map(\.domain))
            #expect(domains.isSuperset(of: [.sync, .network]))
            #expect(logs.lines.contains { $0.domain == .sync && $0.message == "session opened" })
            #expect(logs.lines.contains { $0.domain == .network && $0.message == "connected" })
        }

        @Test func aDomainHasALevelOfItsOwn() async throws {
            let sink = LogSink(level: .error, domains: [.sync: .info, .network: nil], to: logs)
            let server = try TestServer(log: sink)
            let store = try await server.open(lifecycleModels) { $0.log = sink }
            try await store.connected()
            try await server.settled()
            #expect(!logs.lines.isEmpty)
            #expect(logs.lines.allSatisfy { $0.domain == .sync && $0.level >= .info })
        }

        @Test func aLineReadsAsText() async throws {
            let sink = LogSink(level: .info, domains: [.network: nil], to: logs)
            let server = try TestServer()
            let store = try await server.open(lifecycleModels) { $0.log = sink }
            try await store.connected()
            server.expireLogin(of: store)
            try await server.settled()
            #expect(
                logs.lines.last.map { "\($0)" }
                    == "error sync: syncing stopped (error: the login of the session is over)")
        }

        @Test func noSecretIsLogged() async throws {
            let sink = LogSink(level: .verbose, to: logs)
            let rules = #"{"classes": {"Vehicle": {"read": true, "create": true}}, "database": {"schema": true}}"#
            let server = try TestServer(rules: rules, log: sink)
            let store = try await server.open(
                lifecycleModels, user: "ada", claims: #"{"secretClaim": "secretValue"}"#
            ) {
                $0.log = sink
                $0.sync?.headers = ["X-Proxy": "secretHeader"]
                $0.sync?.variables = ["place": .string("secretVariable")]
            }
            try await store.write { try $0.insert(Vehicle(vin: "secretKey", name: "secretName", plate: "secretPlate")) }
            try await store.uploaded()
            let token = try store.objects(Vehicle.self).excluding(\.name).observe { _ in }
            _ = try await store.objects(Vehicle.self).where { $0.plate == "secretPlate" }.synced()
            server.rejectWrites(to: Vehicle.self)
            try await store.write { try $0.insert(Vehicle(vin: "secretOther", plate: "secretPlate")) }
            try await store.uploaded()
            try await store.authenticate(.password(user: "ada", password: "secretPassword"))
            try await server.settled()
            server.cut(store)
            server.restore(store)
            try await server.settled()
            token.stop()
            #expect(logs.lines.count > 4)
            let text = logs.lines.map { "\($0)" }.joined(separator: "\n")
            #expect(!text.contains("secret"), "\(text)")
        }
    }
#endif
