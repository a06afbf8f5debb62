import Foundation
import Glibc
import Sluice
import SluiceModel
import SluiceStorage
import TestSupport
import Testing

/// Kills either side with kill -9 at any moment: nothing acknowledged is lost, nothing is applied twice, and the rest
/// arrives later.
@Suite(.serialized)
struct CrashTests {
    /// The content of a server as a new client sees it: the entries and the counter.
    private func content(_ server: ServerProcess) async throws -> (entries: [[Value]], counter: Value?) {
        try await Fixture.withStore(server.url()) { store in
            let entries = try await store.found("Entry").map { try [$0.value("writer"), $0.value("number")] }
            return (entries, try await store.found("Counter").first?["value"])
        }
    }

    @Test(arguments: [1 as UInt64, 2])
    func killedServerLosesNothingAcknowledgedAndTakesTheRestOnce(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        try await withFolder { folder in
            let port = try UnusedPort.next()
            var server = try await ServerProcess.start(folder: folder, port: port)
            defer { server.process.signal(SIGKILL) }
            let writers = try await EntryWriter.two(server.url())
            for round in 0..<3 {
                let tasks = writers.map { writer in
                    let seed = generator.next()
                    return Task { try await writer.write(seed: seed) }
                }
                let count = writers.reduce(0) { $0 + $1.written } + Int64.random(in: 2...80, using: &generator)
                try await wait(for: "\(count) transactions") { writers.reduce(0) { $0 + $1.written } >= count }
                // The server dies at a random moment of its work; no outcome depends on which.
                usleep(UInt32.random(in: 0...4_000, using: &generator))
                try await server.kill()
                for task in tasks { task.cancel() }
                for task in tasks { try await task.value }

                let (entries, counter) = try await withServer(folder: folder) { try await content($0) }
                let found = Set(entries)
                #expect(found.count == entries.count, "seed \(seed), round \(round): something is there twice")
                #expect(
                    counter == .int(Int64(entries.count)),
                    "seed \(seed), round \(round): a transaction is there by half")
                for writer in writers {
                    let own = found.filter { $0[0] == .int(writer.number) }
                    #expect(
                        own.isSuperset(of: writer.entries(writer.acknowledged)), "seed \(seed), round \(round): lost")
                    #expect(own.isSubset(of: writer.entries(writer.written)), "seed \(seed), round \(round): invented")
                }
                server = try await ServerProcess.start(folder: folder, port: port)
            }
            for writer in writers { try await writer.acknowledge() }
            let total = writers.reduce(0) { $0 + $1.written }
            let (entries, counter) = try await content(server)
            #expect(entries.count == total, "seed \(seed)")
            #expect(Set(entries) == writers.reduce(into: []) { $0.formUnion($1.entries($1.written)) }, "seed \(seed)")
            #expect(counter == .int(total), "seed \(seed)")
            for writer in writers {
                try await wait(for: "the count of \(total), seed \(seed)") {
                    try writer.store.records(ofClass: "Counter").first()?["value"] == .int(total)
                }
                await writer.store.close()
            }
        }
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func killedClientKeepsWhatItWroteAndUploadsItOnce(seed: UInt64) async throws {
        try await withFolder { folder in
            try await withServer { server in
                try await Fixture.withStore(server.url()) { try await EntryWriter.makeCounter($0) }
                let (url, path, journal) = (server.url(), folder + "/client.sluice", folder + "/journal")
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [url = url as String, path = path as String, journal = journal as String, seed = seed as UInt64] in
                    try await CrashTests.writeUntilKilled(url, path: path, journal: journal, seed: seed)
                }
                let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n")
                let begun = lines.filter { $0.hasPrefix("begin ") }.count
                let written = lines.filter { $0.hasPrefix("end ") }.count
                #expect(written > 0 && begun - written <= 1, "seed \(seed)")
                try await Fixture.withStore(url, path: path) { store in
                    try await store.uploaded(timeout: waitMax)
                }
                let (entries, counter) = try await content(server)
                let found = Set(entries)
                #expect(found.count == entries.count, "seed \(seed): something is there twice")
                #expect(found.isSuperset(of: (0..<written).map { [.int(0), .int(Int64($0))] }), "seed \(seed): lost")
                #expect(found.isSubset(of: (0..<begun).map { [.int(0), .int(Int64($0))] }), "seed \(seed): invented")
                #expect(counter == .int(Int64(entries.count)), "seed \(seed)")
            }
        }
    }

    /// Runs in its own process: writes and uploads until it kills itself at a random moment.
    private static func writeUntilKilled(_ url: String, path: String, journal: String, seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let killed = Int.random(in: 20...150, using: &generator)
        let delay = UInt32.random(in: 0...3_000, using: &generator)
        let file = open(journal, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        func note(_ text: String) { _ = text.withCString { write(file, $0, strlen($0)) } }
        let store = try await Fixture.store(url, path: path)
        let token = try store.records(ofClass: "Counter").observe { _ in }
        _ = try await store.found("Counter")
        for number in 0..<10_000 {
            if number == killed {
                Thread.detachNewThread {
                    usleep(delay)
                    kill(getpid(), SIGKILL)
                }
            }
            let entry = try Record(Fixture.entry.get(), ["writer": .int(0), "number": .int(Int64(number))])
            note("begin \(number)\n")
            try await store.write { transaction in
                try transaction.insert(entry)
                try transaction.update(Identity(className: "Counter", key: .string("all")), add: ["value": .int(1)])
            }
            note("end \(number)\n")
        }
        token.stop()
    }
}
