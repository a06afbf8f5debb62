import Foundation
import Glibc
import SluiceBackend
import TestSupport

/// A run of the program: processes that are killed and started again, a writer that is not, and the comparison at the end.
struct Killing {
    private let kills: Int
    private let rows: Int
    private let pauseMax: Int
    private var generator: SeededGenerator
    private let folder: String
    private let port: UInt16
    private var server: ChildProcess?
    private var job: ChildProcess?
    private var serverKills = 0
    private var jobKills = 0
    private let start = ContinuousClock.now

    init(kills: Int, rows: Int, seed: Int, pauseMax: Int) async throws {
        self.kills = kills
        self.rows = rows
        self.pauseMax = max(1, pauseMax)
        generator = SeededGenerator(seed: UInt64(seed))
        folder = FileManager.default.temporaryDirectory.path + "/sluice-kills-\(UUID().uuidString)"
        port = try UnusedPort.next()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    private var data: String { folder + "/data" }
    private var url: String { "ws://127.0.0.1:\(port)/\(World.name)" }

    mutating func run() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await fill()
        try await startServer()
        try startJob()
        let store = try await Store.open(
            StoreConfiguration(
                path: folder + "/writer", models: World.models, sync: SyncConfiguration(url: url)))
        let writer = Writer(store, rows: rows, seed: generator.next())
        let writing = Task { try await writer.run() }
        for number in 1...max(1, kills) where kills > 0 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...pauseMax, using: &generator)))
            try await kill()
            if number % 50 == 0 { say("\(number) kills") }
        }
        writing.cancel()
        let writes = try await writing.value
        try await store.uploaded()
        await store.close()
        try await settle()
        say("\(writes) writes; killed the server \(serverKills) times and the job beside a store \(jobKills) times")
        try await compare()
    }

    private func say(_ line: String) { Processes.say("\(Int((ContinuousClock.now - start) / .seconds(1))) s: \(line)") }

    // MARK: Processes

    private func process(_ arguments: String...) throws -> ChildProcess {
        try ChildProcess(CommandLine.arguments[0], arguments)
    }

    private mutating func startServer() async throws {
        let process = try process("serve", data, "\(port)")
        server = process
        _ = try await process.line(with: "serving at")
    }

    private mutating func startJob() throws { job = try process("consume", url, folder + "/job", "always") }

    private mutating func kill() async throws {
        let choice = Int.random(in: 0..<10, using: &generator)
        if choice < 6 {
            job?.signal(SIGKILL)
            jobKills += 1
        }
        if choice > 4 {
            server?.signal(SIGKILL)
            serverKills += 1
        }
        if choice < 6 {
            _ = try await job?.finish()
            try startJob()
        }
        if choice > 4 {
            _ = try await server?.finish()
            try await startServer()
        }
    }

    /// Lets the jobs handle what is left.
    private mutating func settle() async throws {
        job?.signal(SIGKILL)
        _ = try await job?.finish()
        // As long as it takes.
        while true {
            let last = try process("consume", url, folder + "/job", "once")
            while last.isRunning { try await Task.sleep(for: .milliseconds(50)) }
            let end = try await last.finish()
            guard end.code == 0 else { throw Failure("the job ended with \(end.code): \(end.diagnostics)") }
            say(end.lines.joined(separator: ", "))
            break
        }
        server?.signal(SIGKILL)
        _ = try await server?.finish()
    }

    // MARK: Data

    private func withDatabase(_ body: (ServerDatabase) async throws -> Void) async throws {
        let server = try SyncServer(ServerConfiguration(dataFolder: data, port: 0, isDevelopment: true))
        try await body(try await server.database(World.name, models: World.models))
        await server.stop()
    }

    private func fill() async throws {
        try await withDatabase { database in
            for start in stride(from: 0, to: rows, by: 20_000) {
                let part = start..<min(start + 20_000, rows)
                try await database.write { for id in part { try $0.insert(Reading(id: id, value: id % 97 - 5)) } }
            }
        }
        say("\(rows) rows")
    }

    private func compare() async throws {
        try await withDatabase { database in
            let count = try await Processes.inner(database).runOnce { try await Processes.deriveInner($0) }
            say("\(count) at last in the server's process")
            try await compare(database.objects(OuterCopy.self).rows(), "outer", { ($0.id, $0.value) }, database)
            try await compare(database.objects(InnerCopy.self).rows(), "inner", { ($0.id, $0.value) }, database)
        }
    }

    /// Compares what a job has derived with the results of its query, and checks that it has handled no state twice.
    private func compare<Copy: Model>(
        _ copies: AsyncRows<Copy>, _ job: String, _ parts: (Copy) -> (id: Int, value: Int), _ database: ServerDatabase
    ) async throws {
        var copies = copies.makeAsyncIterator()
        var count = 0
        for try await reading in database.objects(Reading.self).where({ $0.value >= 0 }).rows(page: 10_000) {
            let copy = try await copies.next().map { parts($0) }
            guard let copy, copy == (reading.id, reading.value) else {
                throw Failure("\(job) has \(copy.map { "\($0)" } ?? "nothing") for \(reading.id), \(reading.value)")
            }
            count += 1
        }
        if let copy = try await copies.next() { throw Failure("\(job) has \(parts(copy)), which is no result") }
        var states: Set<Int> = []
        var (batches, resets) = (0, 0)
        for try await tally in database.objects(Tally.self).rows(page: 100) where tally.job == job {
            batches += 1
            if tally.isReset {
                resets += 1
                states = []
            }
            for state in tally.states where !states.insert(state).inserted {
                throw Failure("\(job) has handled \(state >> 32) of version \(state & 0xFFFF_FFFF) twice")
            }
        }
        // Nothing undoes a history here, and the log reaches back.
        guard resets == 0 else { throw Failure("\(job) has begun anew \(resets) times") }
        say(
            "\(job): \(count) rows as they should be, \(states.count) states handled once, \(batches) batches, \(resets) resets"
        )
    }
}

/// Writes as long as its task runs.
private final class Writer: Sendable {
    private let store: Store
    private let rows: Int
    private let seed: UInt64

    init(_ store: Store, rows: Int, seed: UInt64) {
        self.store = store
        self.rows = rows
        self.seed = seed
    }

    /// - Returns: how many transactions were written.
    func run() async throws -> Int {
        var generator = SeededGenerator(seed: seed)
        var count = 0
        while !Task.isCancelled {
            let ids = (0..<Int.random(in: 1...20, using: &generator)).map { _ in
                (
                    id: Int.random(in: 0..<rows, using: &generator), value: Int.random(in: -20...80, using: &generator),
                    isDeletion: Int.random(in: 0..<20, using: &generator) == 0
                )
            }
            try await store.write { transaction in
                for (id, value, isDeletion) in ids {
                    if isDeletion {
                        try transaction.delete(Reading.self, key: id)
                    } else {
                        try transaction.upsert(Reading(id: id, value: value))
                    }
                }
            }
            count += 1
            try? await Task.sleep(for: .milliseconds(Int.random(in: 1...20, using: &generator)))
        }
        return count
    }
}
