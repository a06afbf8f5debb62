import Foundation
import Glibc
import Sluice
import Synchronization
import TestSupport
import Testing

/// Processes that are stopped, or get hardly any processor time, while they are sent much: all bytes must keep their
/// order.
@Suite(.serialized)
struct SuspendTests {
    /// What keeps a reader from reading.
    enum Hindrance: String, CaseIterable {
        case stopped
        case starved
    }

    /// The number of commits during the hindrance. They take less time than a server waits for an answer to its ping.
    private static let commitCount = 400

    /// Writes entries of many sizes, each in its own transaction, and waits until the server has acknowledged all of
    /// them.
    private func write(_ count: Int, to store: Store, as writer: Int64) async throws {
        for number in 0..<count {
            let entry = try Record(
                Fixture.entry.get(),
                [
                    "writer": .int(writer), "number": .int(Int64(number)),
                    "payload": .string(String(repeating: "x", count: number * 37 % 1_800)),
                ])
            try await store.write { try $0.insert(entry) }
            // Several commits are in flight at a time, and none of them is large.
            if number % 8 == 7 { try await store.uploaded(timeout: waitMax) }
        }
        try await store.uploaded(timeout: waitMax)
    }

    /// A line of `sluice query --watch`, decoded.
    private struct Line: Decodable {
        struct Entry: Decodable {
            var writer: Int
            var number: Int
        }
        var inserted: [Entry]?
        var count: Int
    }

    @Test(arguments: Hindrance.allCases)
    func aWatcherHinderedWhileManyCommitsComeShowsEveryRowOnceOnOneConnection(hindrance: Hindrance) async throws {
        try await withServer { server in
            try await Fixture.withStore(server.url()) { store in
                try await write(1, to: store, as: 1)
                let query = ["query", server.url(), "Entry", "--watch"]
                let watcher =
                    hindrance == .starved
                    ? try ChildProcess("/usr/bin/env", ["nice", "-n", "19", Tool.path] + query, input: nil)
                    : try ChildProcess(Tool.path, query, input: nil)
                defer { watcher.signal(SIGKILL) }
                let neighbours = try (0..<(hindrance == .starved ? 2 : 0)).map { _ in
                    try ChildProcess("/bin/sh", ["-c", "while :; do :; done"], input: nil)
                }
                defer { for neighbour in neighbours { neighbour.signal(SIGKILL) } }
                var seen: [String] = []
                var last = try await watcher.line(with: "\"complete\"")
                if hindrance == .stopped { watcher.signal(SIGSTOP) }
                try await write(Self.commitCount, to: store, as: 2)
                watcher.signal(SIGCONT)
                while true {
                    let line = try JSONDecoder().decode(Line.self, from: Data(last.utf8))
                    seen += (line.inserted ?? []).map { "\($0.writer)/\($0.number)" }
                    if line.count == Self.commitCount + 1 { break }
                    last = try await watcher.line(with: "\"count\"")
                }
                #expect(seen.count == Self.commitCount + 1)
                #expect(Set(seen).count == Self.commitCount + 1)
                // A lost connection would be reported, and could hide an error by repairing its effect.
                #expect(watcher.diagnostics.isEmpty, "\(watcher.diagnostics)")
            }
        }
    }

    @Test func aServerStoppedWhileWritersWriteClosesNobodyAndAcknowledgesAll() async throws {
        try await withServer { server in
            let losses = Mutex<[String]>([])
            var stores: [Store] = []
            for _ in 0..<3 {
                var configuration = StoreConfiguration(
                    schema: try Fixture.schema(), sync: SyncConfiguration(url: server.url()))
                configuration.log = LogSink(level: .info) { line in
                    for (name, value) in line.metadata where name == "reason" {
                        losses.withLock { $0.append(value) }
                    }
                }
                let store = try await Store.open(configuration)
                try await store.connected(timeout: waitMax)
                stores.append(store)
            }
            server.process.signal(SIGSTOP)
            for (writer, store) in stores.enumerated() {
                for number in 0..<800 {
                    let entry = try Record(
                        Fixture.entry.get(),
                        [
                            "writer": .int(Int64(writer)), "number": .int(Int64(number)),
                            "payload": .string(String(repeating: "y", count: number * 41 % 500)),
                        ])
                    try await store.write { try $0.insert(entry) }
                }
            }
            server.process.signal(SIGCONT)
            for store in stores { try await store.uploaded(timeout: waitMax) }
            #expect(losses.withLock { $0 } == [])
            let found = try await stores[0].found("Entry")
            #expect(Set(found.map { [$0["writer"], $0["number"]] }).count == 3 * 800)
            for store in stores { await store.close() }
        }
    }
}
