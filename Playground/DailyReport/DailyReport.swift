import Foundation
import SluiceBackend

/// A batch job: counts, for each day, the flights of a file, those that left late and those that never left.
/// `DailyReport FOLDER FILE` keeps its database in the folder. Killed at any moment and run again, it goes on where it was
/// and counts no flight twice. Run once more, it has nothing to do; run with a file that has changed, it counts what is
/// different.
@main struct DailyReport {
    static func main() async {
        do { try await run() } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let folder = arguments.first, let path = arguments.last else {
            FileHandle.standardError.write(Data("usage: DailyReport FOLDER FLIGHTS.csv\n".utf8))
            exit(64)
        }
        var configuration = ServerConfiguration(port: 0, isDevelopment: true)
        configuration.dataFolder = folder
        let server = try SyncServer(configuration)
        let report = try await server.database("report", models: [Flight.self, CountedFlight.self, Day.self])
        try await load(FlightFile(path: path).flights, into: report)
        let count = try await count(report)
        print("\(count) flights were new, different or gone")
        for try await day in report.objects(Day.self).sorted(by: \.date).rows() {
            print("\(day.date): \(day.flightCount) flights, \(day.lateCount) late, \(day.cancelledCount) cancelled")
        }
        await server.stop()
    }

    /// Has the database have the flights of the file, and no others. What it has already is not written again.
    private static func load(_ flights: [Flight], into report: ServerDatabase) async throws {
        var rest = Dictionary(flights.map { ($0.id, $0) }) { first, _ in first }
        var gone: [String] = []
        let stored = report.objects(Flight.self).rows()
        let total = try await stored.count()
        var done = 0
        for try await flight in stored {
            done += 1
            if done % 1_000 == 0 { show(done, of: total) }
            guard let listed = rest[flight.id] else {
                gone.append(flight.id)
                continue
            }
            if listed == flight { rest[flight.id] = nil }
        }
        let written = rest.values.sorted { $0.id < $1.id }
        for start in stride(from: 0, to: written.count, by: 2_000) {
            let part = written[start..<min(start + 2_000, written.count)]
            try await report.write { transaction in for flight in part { try transaction.upsert(flight) } }
        }
        for start in stride(from: 0, to: gone.count, by: 2_000) {
            let part = gone[start..<min(start + 2_000, gone.count)]
            try await report.write { transaction in
                for id in part { try transaction.delete(Flight.self, key: id) }
            }
        }
    }

    /// Counts the flights that were not counted yet, and those that have changed anew.
    private static func count(_ report: ServerDatabase) async throws -> Int {
        var options = Consumer<Flight>.Options()
        options.limit = 250
        return try await report.consumer("daily", of: report.objects(Flight.self), options: options).runOnce { batch in
            if let known = batch.progress.known { show(batch.progress.done, of: known) }
            if batch.isReset {
                try await report.delete(all: report.objects(Day.self))
                try await report.delete(all: report.objects(CountedFlight.self))
            }
            try await batch.commit { transaction in
                for item in batch.upserts {
                    let flight = CountedFlight(item.value)
                    try take(try transaction.object(CountedFlight.self, key: flight.id), outOf: transaction)
                    try add(flight, by: 1, in: transaction)
                    try transaction.upsert(flight)
                }
                for gone in batch.removals {
                    guard let id = String(objectKey: gone.key),
                        let flight = try transaction.object(CountedFlight.self, key: id)
                    else { continue }
                    try take(flight, outOf: transaction)
                    try transaction.delete(flight)
                }
            }
        }
    }

    /// A flight that was counted before is taken out of its day first.
    private static func take(_ flight: CountedFlight?, outOf transaction: borrowing WriteTransaction) throws {
        if let flight { try add(flight, by: -1, in: transaction) }
    }

    private static func add(
        _ flight: CountedFlight, by count: Int, in transaction: borrowing WriteTransaction
    ) throws {
        var day = try transaction.object(Day.self, key: flight.day) ?? Day(date: flight.day)
        day.flightCount += count
        if flight.isLate { day.lateCount += count }
        if flight.isCancelled { day.cancelledCount += count }
        if day.flightCount == 0 { try transaction.delete(day) } else { try transaction.upsert(day) }
    }

    private static func show(_ done: Int, of total: Int) {
        guard total > 0 else { return }
        let filled = 40 * min(done, total) / total
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 40 - filled)
        FileHandle.standardError.write(Data("\r[\(bar)] \(done) of \(total)".utf8))
    }
}
