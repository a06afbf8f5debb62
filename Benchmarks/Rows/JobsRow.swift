import CMalloc
import Foundation
import Sluice
import SluiceBackend

/// J2 to J5: jobs in the server's process. A consumer's first reading of many rows beside reading them with nothing kept,
/// what it takes in memory, going on after a few changes, changes with a commit for each thousand, and a queue.
struct JobsRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func reading() async throws -> [Measurement] {
        let count = workbench.options.size(1_000_000, quick: 4_000)
        return try await withDatabase(rows: count) { database in
            let rows = try await workbench.repeated { _ in try await readRows(count, database) }
            let batches = try await workbench.repeated { run in try await readBatches(count, run, database) }
            return [
                Measurement(
                    .consumerReading, "rows of \(count) read one by one", ours: rows.median, unit: "rows/s",
                    goal: .atLeast(200_000), samples: ["ours": rows]),
                Measurement(
                    .consumerReading, "a consumer's first reading, with a commit for each thousand", ours: batches,
                    floor: rows, unit: "rows/s", goal: .none),
            ]
        }
    }

    func memory() async throws -> [Measurement] {
        let count = workbench.options.size(1_000_000, quick: 4_000)
        return try await withDatabase(rows: count) { database in
            // What writing the rows has freed would hide what reading them takes.
            malloc_trim(0)
            ProcessPeak.reset()
            let before = ProcessPeak.megabytes(.now)
            _ = try await readBatches(count, 0, database)
            return [
                Measurement(
                    .consumerMemory, "memory that a consumer's first reading of \(count) rows took at most",
                    ours: ProcessPeak.megabytes(.peak) - before, unit: "MB", goal: .atMost(100))
            ]
        }
    }

    private func readRows(_ count: Int, _ database: ServerDatabase) async throws -> Double {
        try await rate(of: count) {
            var found = 0
            for try await _ in database.objects(Reading.self).rows() { found += 1 }
            try check(found, is: count, "the rows")
        }
    }

    private func readBatches(_ count: Int, _ run: Int, _ database: ServerDatabase) async throws -> Double {
        try await rate(of: count) {
            let consumer = database.consumer("reading-\(run)", of: database.objects(Reading.self))
            let handled = try await consumer.runOnce { try await $0.commit() }
            try check(handled, is: count, "the rows of a consumer")
        }
    }

    func restart() async throws -> [Measurement] {
        let count = workbench.options.size(200_000, quick: 2_000)
        return try await withDatabase(rows: count) { database in
            _ = try await database.consumer("changes", of: database.objects(Reading.self)).runOnce {
                try await $0.commit()
            }
            let times = try await workbench.repeated { run in
                try await touch(0..<10, run, in: database)
                return try await workbench.seconds {
                    let again = database.consumer("changes", of: database.objects(Reading.self))
                    try check(try await again.runOnce { try await $0.commit() }, is: 10, "the changed rows")
                } * 1_000
            }
            return [
                Measurement(
                    .consumerRestart, "a consumer that begins again after 10 changes among \(count) rows",
                    ours: times.median, unit: "ms", goal: .atMost(50), samples: ["ours": times])
            ]
        }
    }

    func changes() async throws -> [Measurement] {
        let count = workbench.options.size(200_000, quick: 2_000)
        return try await withDatabase(rows: count) { database in
            let consumer = database.consumer("changes", of: database.objects(Reading.self))
            _ = try await consumer.runOnce { try await $0.commit() }
            let rates = try await workbench.repeated { run in
                try await touch(0..<count, run, in: database)
                return try await rate(of: count) {
                    try check(try await consumer.runOnce { try await $0.commit() }, is: count, "the changed rows")
                }
            }
            return [
                Measurement(
                    .consumerChanges, "\(count) changed rows, with a commit for each thousand", ours: rates.median,
                    unit: "rows/s", goal: .atLeast(50_000), samples: ["ours": rates])
            ]
        }
    }

    func queue() async throws -> [Measurement] {
        let count = workbench.options.size(10_000, quick: 200)
        let rates = try await workbench.repeated { _ in
            try await withDatabase(rows: count) { database in
                let queue = database.queue(
                    "work", of: database.objects(Reading.self).where { $0.id >= 0 }.sorted(by: \.id))
                return try await rate(of: count) {
                    let done = try await queue.runOnce(workers: 8) { reading, _ in
                        { try $0.delete(Reading.self, key: reading.id) }
                    }
                    try check(done, is: count, "the rows that were done")
                }
            }
        }
        return [
            Measurement(
                .workQueue, "\(count) rows of a queue with 8 workers, each with a transaction of its own",
                ours: rates.median, unit: "rows/s", goal: .none, samples: ["ours": rates])
        ]
    }

    // MARK: The database

    private func withDatabase<Result>(rows: Int, _ body: (ServerDatabase) async throws -> Result) async throws -> Result
    {
        let server = try SyncServer(
            ServerConfiguration(dataFolder: workbench.freshPath("server"), port: 0, isDevelopment: true))
        do {
            let database = try await server.database("bench", models: [Reading.self])
            try await touch(0..<rows, 0, in: database)
            let result = try await body(database)
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }

    /// Writes rows, each with another value than before.
    private func touch(_ range: Range<Int>, _ run: Int, in database: ServerDatabase) async throws {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: 10_000) {
            let part = start..<min(start + 10_000, range.upperBound)
            try await database.write { transaction in
                for reading in Reading.numbered(part) { try transaction.upsert(reading.changed(run)) }
            }
        }
    }

    private func rate(of count: Int, _ body: () async throws -> Void) async throws -> Double {
        Double(count) / (try await workbench.seconds(body))
    }
}
