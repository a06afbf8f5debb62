import Foundation
import Sluice
import SluiceBackend
import SluiceModel
import SluiceQuery
import SluiceTesting
import TestSupport
import Testing

/// Queues with many rows that nobody may have: each claim goes past them once, whatever happens to them meanwhile.
struct QueuePassTests {
    /// Where a queue runs, and in which order.
    struct Case: Sendable, CustomTestStringConvertible {
        let isOverStore: Bool
        let order: String
        var testDescription: String { (isOverStore ? "store" : "process") + order }

        static let all = [false, true].flatMap { isOverStore in
            ["", " SORT(id ASC)", " SORT(delay ASC)", " SORT(delay DESC) LIMIT(100000)"].map {
                Case(isOverStore: isOverStore, order: $0)
            }
        }
    }

    private let server: TestServer

    init() throws { server = try TestServer() }

    private func base(_ place: Case, _ nyc: ServerDatabase) async throws -> any JobHost {
        place.isOverStore ? try await server.open(models).host : nyc.host
    }

    /// Tells how many rows each page has.
    private func counting(_ base: any JobHost, _ pages: Guarded<[Int]>) -> InterceptedHost {
        InterceptedHost(base: base) { use in
            guard case .hasReadRows(let rows) = use else { return }
            pages.withLock { $0.append(rows.rows.count) }
        }
    }

    /// The flights that a queue has done.
    private func doneFlights(_ nyc: ServerDatabase) async throws -> [String] {
        let done = nyc.objects(Flight.self).where { $0.gate == "A" }.sorted(by: \.id)
        return try await done.fetch().map { $0.id }
    }

    private static func id(_ number: Int) -> String { "F\(100_000 + number)" }

    private func make(_ count: Int, in nyc: ServerDatabase) async throws {
        for start in stride(from: 0, to: count, by: 1_000) {
            try await nyc.write { transaction in
                for number in start..<min(start + 1_000, count) {
                    try transaction.upsert(Flight(id: Self.id(number), delay: number))
                }
            }
        }
    }

    private static func end(
        _ flight: Flight, _ claim: WorkQueue<Flight>.Claim
    ) -> WorkQueue<Flight>.Completion {
        { transaction in try transaction.upsert(Flight(id: flight.id, delay: flight.delay, gate: "A")) }
    }

    private static func fail(
        _ flight: Flight, _ claim: WorkQueue<Flight>.Claim
    ) throws -> WorkQueue<Flight>.Completion { throw JobError(.notCommitted, "it fails") }

    /// All flights but some are for later.
    private func options(butOf due: Set<Int>) -> WorkQueue<Flight>.Options {
        var options = WorkQueue<Flight>.Options()
        let later = server.clock.now.addingTimeInterval(3_600)
        options.notBefore = { due.contains($0.delay) ? nil : later }
        return options
    }

    private func queue(
        _ host: any JobHost, _ order: String, _ options: WorkQueue<Flight>.Options
    ) -> WorkQueue<Flight> {
        WorkQueue(host, "gates", options) { try Query.parse("Flight WHERE gate == NULL" + order, schema: $0) }
    }

    @Test(arguments: Case.all) func manyRowsForLaterArePassedOnce(place: Case) async throws {
        let nyc = try await server.database(models: models)
        let count = 5_000
        try await make(count, in: nyc)
        let pages = Guarded<[Int]>([])
        let host = counting(try await base(place, nyc), pages)
        let due = place.order.contains("DESC") ? 0 : count - 1
        let done = try await queue(host, place.order, options(butOf: [due])).runOnce { Self.end($0, $1) }
        #expect(done == 1)
        // One pass finds the row, one that there is none, and one may follow what was committed.
        let read = pages.withLock { $0 }
        #expect(read.reduce(0, +) <= 3 * count && read.count <= 3 * 7, "\(read)")
        #expect(try await doneFlights(nyc) == [Self.id(due)])
    }

    @Test(arguments: Case.all) func manyDeadRowsArePassedOnce(place: Case) async throws {
        let nyc = try await server.database(models: models)
        let count = 300
        try await make(count, in: nyc)
        var options = WorkQueue<Flight>.Options()
        options.attempts = 1
        let failed = try await queue(nyc.host, place.order, options).runOnce(workers: 8) { try Self.fail($0, $1) }
        #expect(failed == 0)
        #expect(try await nyc.jobs.deadRows(ofQueue: "gates").count == count)
        try await nyc.putFlight(Self.id(count), delay: place.order.contains("DESC") ? -1 : count)
        let pages = Guarded<[Int]>([])
        let host = counting(try await base(place, nyc), pages)
        let done = try await queue(host, place.order, options).runOnce { Self.end($0, $1) }
        #expect(done == 1)
        let read = pages.withLock { $0 }
        #expect(read.reduce(0, +) <= 3 * (count + 1), "\(read)")
    }

    /// What becomes of the last row of a page before the next is read.
    enum Fate: CaseIterable, Sendable { case deleted, movedToTheEnd, movedToTheBeginning, finished, allDeleted }

    @Test(arguments: Case.all, Fate.allCases) func rowsThatVanishOrMoveBetweenPagesHideNone(
        place: Case, fate: Fate
    ) async throws {
        let nyc = try await server.database(models: models)
        let count = 400
        try await make(count, in: nyc)
        let pageNumber = Guarded(0)
        let isDescending = place.order.contains("DESC")
        let host = InterceptedHost(base: try await base(place, nyc)) { use in
            guard case .hasReadRows(let rows) = use, let last = rows.rows.last?.row.key,
                pageNumber.withLock({ number in
                    number += 1
                    return number == 1
                })
            else { return }
            guard case .string(let id) = last else { return }
            let all = rows.rows.map(\.row.key)
            try await nyc.write { transaction in
                switch fate {
                case .deleted: try transaction.delete(Flight.self, key: id)
                case .movedToTheEnd: try transaction.upsert(Flight(id: id, delay: isDescending ? -9 : 9_999))
                case .movedToTheBeginning:
                    try transaction.upsert(Flight(id: id, delay: isDescending ? 9_999 : -9))
                case .finished: try transaction.upsert(Flight(id: id, delay: 1, gate: "B"))
                case .allDeleted:
                    for case .string(let id) in all { try transaction.delete(Flight.self, key: id) }
                }
            }
        }
        // All that are due are behind the first page, and some of them are not on the last.
        let due: Set<Int> = [150, 200, 250]
        let done = try await queue(host, place.order, options(butOf: due)).runOnce { Self.end($0, $1) }
        #expect(done == due.count)
        #expect(try await doneFlights(nyc) == due.sorted().map(Self.id))
    }

    /// Each time the row is deleted behind which the next page is to come. The claim ends nonetheless.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true]) func aClaimEndsAlthoughItsRowsVanishForEver(
        isOverStore: Bool
    ) async throws {
        let nyc = try await server.database(models: models)
        try await make(200, in: nyc)
        let readCount = Guarded(0)
        let place = Case(isOverStore: isOverStore, order: " SORT(delay ASC)")
        let host = InterceptedHost(base: try await base(place, nyc)) { use in
            guard case .hasReadRows(let rows) = use, case .string(let id)? = rows.rows.last?.row.key else { return }
            let number = readCount.withLock { count in
                count += 1
                return count
            }
            guard number < 1_000 else { return }
            // There are ever more rows to come, so that no page is the last.
            try await nyc.write { transaction in
                try transaction.delete(Flight.self, key: id)
                for next in 0..<rows.rows.count + 1 {
                    try transaction.upsert(Flight(id: "G\(number)-\(next)", delay: 1_000_000))
                }
            }
        }
        let done = try await queue(host, place.order, options(butOf: [])).runOnce { Self.end($0, $1) }
        #expect(done == 0)
        #expect(readCount.withLock { $0 } < 1_000)
    }
}
