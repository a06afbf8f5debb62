import Foundation
import SluiceBackend

/// A batch job: counts, for each day, the flights of a file, those that left late and those that never left.
/// `DailyReport FOLDER FILE` keeps its database in the folder. Killed at any moment and run again, it goes on where it was
/// and counts no flight twice. Run once more, it has nothing to do.
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
        let report = try await server.database("report", models: [Flight.self, Day.self])
        try await load(FlightFile(path: path).flights, into: report)
        let count = try await count(report)
        print("\(count) flights were new")
        for try await day in report.objects(Day.self).sorted(by: \.date).rows() {
            print("\(day.date): \(day.flightCount) flights, \(day.lateCount) late, \(day.cancelledCount) cancelled")
        }
        await server.stop()
    }

    /// Writes the flights that the database does not have yet.
    private static func load(_ flights: [Flight], into report: ServerDatabase) async throws {
        let known = try await report.objects(Flight.self).count()
        guard known < flights.count else { return }
        for start in stride(from: 0, to: flights.count, by: 2_000) {
            let part = flights[start..<min(start + 2_000, flights.count)]
            try await report.write { transaction in for flight in part { try transaction.upsert(flight) } }
        }
    }

    /// Adds the flights that were not counted yet to their days.
    private static func count(_ report: ServerDatabase) async throws -> Int {
        var options = Consumer<Flight>.Options()
        options.limit = 250
        return try await report.consumer("daily", of: report.objects(Flight.self), options: options).runOnce { batch in
            show(batch.progress)
            let days = Dictionary(grouping: batch.upserts.map(\.value), by: \.day)
            try await batch.commit { transaction in
                if batch.isReset { try transaction.delete(all: transaction.objects(Day.self)) }
                for (date, flights) in days {
                    if try transaction.object(Day.self, key: date) == nil { try transaction.insert(Day(date: date)) }
                    try transaction.update(Day(date: date)) { day in
                        day.flightCount += flights.count
                        day.lateCount += flights.count { ($0.delay ?? 0) >= 60 }
                        day.cancelledCount += flights.count { $0.delay == nil }
                    }
                }
            }
        }
    }

    private static func show(_ progress: ConsumerBatch<Flight>.Progress) {
        guard let known = progress.known, known > 0 else { return }
        let filled = 40 * progress.done / known
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 40 - filled)
        FileHandle.standardError.write(Data("\r[\(bar)] \(progress.done) of \(known)".utf8))
    }
}
