import Foundation
import Glibc
import Sluice
import TestSupport
import Testing

/// What balancers, supervisors and Prometheus ask of a server process.
@Suite(.serialized)
struct ProbeTests {
    /// The port of the metrics, from the log.
    private func metricsPort(_ server: ServerProcess) async throws -> UInt16 {
        let start = "\"message\":\"listening for metrics\",\"address\":\"127.0.0.1 port "
        var port: UInt16?
        try await wait(for: "the server to say where it answers with metrics") {
            guard let place = server.process.diagnostics.range(of: start) else { return false }
            port = UInt16(server.process.diagnostics[place.upperBound...].prefix { $0.isNumber })
            return true
        }
        guard let port else { throw Failure("the log has no port: \(server.process.diagnostics)") }
        return port
    }

    @Test func aServerCanBeProbedAndMeasuredWhileStoresUseIt() async throws {
        try await withServer(options: ["--metrics-listen=127.0.0.1:0"]) { server in
            let port = try await metricsPort(server)
            try await Fixture.withStore(server.url("secretname")) { store in
                for number in 0..<20 { try await store.addPlane("N\(number)") }
                _ = try await store.found("Plane")
                let ready = try await HTTPAnswer.get("/health/ready", port: server.port)
                #expect(ready.status == 200 && ready.body.contains("\"open\":1"), "\(ready.body)")
                let metrics = try await HTTPAnswer.get("/metrics", port: port)
                #expect(metrics.status == 200)
                let lines = Set(metrics.body.split(separator: "\n"))
                #expect(lines.contains("sluice_server_transactions_total{outcome=\"stored\"} 20"), "\(metrics.body)")
                #expect(lines.contains("sluice_server_sessions 1"))
                #expect(lines.contains("sluice_server_subscription_starts_total{kind=\"anew\"} 1"))
                #expect(lines.contains("sluice_server_bootstrap_seconds_count 1"))
                #expect(lines.contains { $0.hasPrefix("sluice_server_commit_seconds_count{step=\"publish\"} ") })
                #expect(lines.contains("sluice_server_journal_appends_total{outcome=\"appended\"} 0"))
                for answer in [ready, metrics] { #expect(!answer.body.contains("secretname")) }
            }
        }
    }

    @Test(.onSmallDisk) func aFullDiskLeavesAServerReadySinceReadingGoesOn() async throws {
        let disk = try #require(SmallDisk())
        try await withServer(folder: disk.path + "/data") { server in
            try await Fixture.withStore(server.url()) { store in
                try await store.addPlane("N1")
                disk.fill()
                try await store.write { transaction in
                    for number in 0..<1_000 as Range<Int64> {
                        let payload = Value.string(String(repeating: "x", count: 1_000))
                        try transaction.insert(
                            Record(Fixture.entry.get(), ["number": .int(number), "payload": payload]))
                    }
                }
                try await wait(for: "the server to notice") {
                    try await HTTPAnswer.get("/health/ready", port: server.port).body.contains("\"writable\":false")
                }
                #expect(try await HTTPAnswer.get("/health/ready", port: server.port).status == 200)
                disk.clear()
                try await store.uploaded(timeout: waitMax)
                let ready = try await HTTPAnswer.get("/health/ready", port: server.port)
                #expect(ready.status == 200 && ready.body.contains("\"writable\":true"), "\(ready.body)")
            }
        }
    }

    @Test func aServerThatIsToDrainAnswers503AndServesOn() async throws {
        try await withServer(options: ["--drain=10m", "--log-format=text"]) { server in
            server.process.signal(SIGTERM)
            try await wait(for: "the server to be unready") {
                try await HTTPAnswer.get("/health/ready", port: server.port).status == 503
            }
            #expect(try await HTTPAnswer.get("/health/live", port: server.port).status == 200)
            try await server.expectService()
            #expect(server.process.diagnostics.contains(" info network: draining\n"))
            // A second signal ends it at once.
            server.process.signal(SIGTERM)
            #expect(try await server.process.finish().code != 0)
        }
    }

    @Test func theFileOfMetricsHasWhatTheListenerAnswers() async throws {
        try await withFolder { folder in
            let path = folder + "/sluice.prom"
            try await withServer(
                folder: folder + "/data", options: ["--metrics-file=\(path)", "--metrics-listen=127.0.0.1:0"]
            ) { server in
                let port = try await metricsPort(server)
                try await wait(for: "the file") { FileManager.default.fileExists(atPath: path) }
                func families(_ text: String) -> [Substring] {
                    text.split(separator: "\n").filter { $0.hasPrefix("# ") }
                }
                let file = try String(contentsOfFile: path, encoding: .utf8)
                #expect(try await families(HTTPAnswer.get("/metrics", port: port).body) == families(file))
                server.process.signal(SIGTERM)
                #expect(try await server.process.finish().code == 0)
                let last = try String(contentsOfFile: path, encoding: .utf8)
                #expect(last.contains("\nsluice_server_ready 0\n"), "it is written once more at the end")
            }
        }
    }

    @Test(arguments: [
        (["--log-format=xml"], "text"), (["--metrics-listen=9464"], "--metrics-listen is HOST:PORT"),
        (["--metrics-listen=0.0.0.0:0"], "loopback"), (["--drain=soon"], "--drain is a length of time"),
    ]) func whatIsWrongIsSaid(options: [String], message: String) async throws {
        try await withFolder { folder in
            let exit = try await Tool.run(["serve", "--data=\(folder)", "--dev", "--listen=127.0.0.1:0"] + options)
            #expect(exit.code != 0)
            #expect(exit.diagnostics.contains(message), "\(exit.diagnostics)")
        }
    }
}
