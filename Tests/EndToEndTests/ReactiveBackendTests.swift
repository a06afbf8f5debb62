import Foundation
import Glibc
import TestSupport
import Testing

/// Runs the example service of docs/reactive-backend.md as a process.
@Suite(.timeLimit(.minutes(10))) struct ReactiveBackendTests {
    private let path = URL(fileURLWithPath: Tool.path).deletingLastPathComponent().appendingPathComponent("DelayAlerts")
        .path

    private func write(_ delay: Int, of key: String, _ server: ServerProcess) async throws {
        let line =
            #"{"op":"upsert","class":"Departure","key":"\#(key)","set":{"flight":"UA 1","delay":\#(delay)}}"# + "\n"
        let exit = try await Tool.run("write", server.url(), input: line)
        try #require(exit.code == 0, "\(exit.diagnostics)")
    }

    private func alerts(_ server: ServerProcess) async throws -> [String] {
        try await Tool.run("query", server.url(), "Alert SORT(departure ASC)", "--format=jsonl").lines
    }

    @Test func theServiceReactsAndEndsInOrderWhenAsked() async throws {
        try await withFolder { folder in
            try await withServer { server in
                for round in 1...2 {
                    let service = try ChildProcess(path, [server.url(), folder + "/alerts.sluice"], input: nil)
                    try await service.line(with: "watching")
                    // Its session makes the database, which a command does not.
                    try await wait(for: "the service's classes") {
                        try await Tool.run("query", server.url(), "Departure").code == 0
                    }
                    if round == 1 { try await write(75, of: "on time", server) }
                    try await write(60 + round, of: "late \(round)", server)
                    try await write(5, of: "early \(round)", server)
                    try await wait(for: "the alert of round \(round)") {
                        try await alerts(server).count == round + 1
                    }
                    service.signal(SIGTERM)
                    let end = try await service.finish()
                    #expect(end.code == 0, "\(end.diagnostics)")
                }
                let lines = try await alerts(server)
                #expect(lines.count == 3 && lines.allSatisfy { $0.contains("minutes late") })
            }
        }
    }

    @Test func theServiceEndsWithTheReasonWhenNoMoreComes() async throws {
        try await withFolder { folder in
            try await withServer { server in
                let file = folder + "/departures.csv"
                try "id,flight,delay\na1,UA 1,late\n".write(toFile: file, atomically: true, encoding: .utf8)
                let exit = try await Tool.run("import", server.url(), "Departure", file, "--key=id")
                try #require(exit.code == 0, "\(exit.diagnostics)")
                // A database that cannot be, and one in which the delay is a text.
                for (name, reason) in [("no.such.name", "no.such.name"), ("test", "Departure.delay")] {
                    let service = try ChildProcess(path, [server.url(name), folder + "/\(name).sluice"], input: nil)
                    let end = try await service.finish()
                    #expect(end.code == 1 && end.diagnostics.contains(reason), "\(end.diagnostics)")
                }
            }
        }
    }

    @Test func theServiceSaysHowItIsCalled() async throws {
        let exit = try await ChildProcess(path, []).finish()
        #expect(exit.code == 64 && exit.diagnostics.hasPrefix("usage: DelayAlerts"))
    }
}
