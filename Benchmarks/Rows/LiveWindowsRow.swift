import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceTransport
import SluiceWire

/// R6: the writes that a server's engine follows beside 300 live windows over flights, whose links are followed.
///
/// Thirty sessions have ten windows each. A further session uploads transactions of one operation that moves a flight
/// within windows, out of them or into them. What is measured is the engine on one core, with a database in memory: from
/// decoded uploads to encoded frames for each session. It merges and stores the write, finds the views, works out what
/// changes in each and encodes that.
struct LiveWindowsRow {
    /// A set of windows, and the flights whose changes concern them.
    private struct Kind {
        let name: String
        /// How many windows each write concerns.
        let concernedCount: Int
        let goal: Measurement.Goal
        let queries: @Sendable (_ airlines: [String]) -> [String]
    }

    private let workbench: Workbench
    private let data: FlightData

    init(_ workbench: Workbench) throws {
        self.workbench = workbench
        data = try FlightData()
    }

    private static let orders = ["departureDelay", "arrivalDelay"]

    private static let kinds = [
        Kind(name: "20 of them concerned", concernedCount: 20, goal: .atLeast(10_000)) { airlines in
            let filters = [
                "", " AND departureDelay > 15", " AND arrivalDelay > 15", " AND year == 2013",
                " AND distance > 10",
            ]
            return airlines.flatMap { airline in
                filters.flatMap { filter in
                    orders.flatMap { order in
                        [20, 50].map { limit in
                            "Flight WHERE airline.carrier == '\(airline)'\(filter) SORT(\(order) DESC) LIMIT(\(limit))"
                        }
                    }
                }
            }
        },
        Kind(name: "all concerned", concernedCount: 300, goal: .atLeast(1_000)) { _ in
            (0..<300).map { number in
                "Flight WHERE departureDelay > \(number % 25) SORT(\(orders[number / 25 % 2]) DESC) "
                    + "LIMIT(\(20 + number / 50 * 5))"
            }
        },
    ]

    func measure() throws -> [Measurement] {
        var measurements: [Measurement] = []
        for kind in Self.kinds {
            for groupSize in [1, 100] {
                var rates: [Double] = []
                for _ in 0..<workbench.options.runCount { rates.append(try run(kind, groupSize)) }
                let title = "300 windows, \(kind.name)"
                measurements.append(
                    Measurement(
                        .liveWindows, groupSize == 1 ? title : "\(title), in groups of \(groupSize)",
                        ours: rates.median, unit: "writes/s", goal: groupSize == 1 ? kind.goal : .none,
                        samples: ["ours": rates]))
                guard groupSize == 1 else { continue }
                // The server reads the clock once for each view that a commit concerns, and once before the first.
                let share = rates.median * Double(kind.concernedCount + 1) * Self.clockReadingSeconds() * 100
                measurements.append(
                    Measurement(
                        .liveWindows, "\(title), of it the counters of views", ours: share, unit: "%",
                        goal: .atMost(2)))
            }
        }
        return measurements
    }

    /// How long one reading of the clock takes, with the additions that follow it.
    private static func clockReadingSeconds() -> Double {
        let count = 1_000_000
        var (foundCount, time) = (0, Int64(0))
        let start = MonotonicClock.now
        var last = start
        for _ in 0..<count {
            let now = MonotonicClock.now
            foundCount += 1
            time += now - last
            last = now
        }
        return Double(time) / Double(foundCount) / 1e9
    }

    /// - Returns: writes in a second.
    private func run(_ kind: Kind, _ groupSize: Int) throws -> Double {
        let world = try WindowsWorld(data, flightCount: workbench.options.size(30_000, quick: 6_000))
        let airlines = try data.airlines.map(\.carrier).filter { carrier in
            try !world.keys(of: "Flight WHERE airline.carrier == '\(carrier)' LIMIT(1)").isEmpty
        }.prefix(15)
        let queries = kind.queries(Array(airlines))
        try check(queries.count, is: 300, "the windows")
        let sessions = try (0..<30).map { session in
            try world.subscribe(queries[(session * 10)..<(session * 10 + 10)])
        }
        try check(sessions.reduce(0) { $0 + $1.pages.count }, is: 300, "the subscriptions that were answered")

        // The flights at the front of the windows: of each airline, or of all.
        let isByAirline = kind.concernedCount < 300
        let conditions = isByAirline ? airlines.map { "airline.carrier == '\($0)'" } : ["departureDelay > 15"]
        let pools = try conditions.map {
            try world.keys(of: "Flight WHERE \($0) SORT(departureDelay DESC) LIMIT(15)")
        }
        let writeCount = workbench.options.size(isByAirline ? 4_000 : 1_000, quick: 100)
        var gone: [Int: ObjectKey] = [:]
        // The delays that flights were given: one that was given none may be outside of some windows.
        var given: [ObjectKey: Int] = [:]
        var seconds = 0.0
        var mentionCount = 0
        var next = 0
        while next < writeCount {
            let groupEnd = min(writeCount, next + groupSize)
            let writes = (next..<groupEnd).map { number -> (ObjectKey, Int) in
                let place = number % pools.count
                let back = gone.removeValue(forKey: place)
                let key = back ?? pools[place][Int(Mixer.mix(number * 3) % UInt64(pools[place].count))]
                if back == nil, number / pools.count % 4 == 3, given[key] != nil {
                    gone[place] = key
                    given[key] = nil
                    return (key, 2)
                }
                var delay = 1_000 + Int(Mixer.mix(number) % 1_000)
                if given[key] == delay { delay += 1 }
                given[key] = delay
                return (key, delay)
            }
            let (time, frames) = world.write(writes)
            seconds += time
            if groupSize == 1 { mentionCount += try world.mentionCount(in: frames) }
            next = groupEnd
        }
        if groupSize == 1 {
            try check(mentionCount, is: writeCount * kind.concernedCount, "the windows that were told of a change")
        }
        try world.checkResults(of: queries)
        return Double(writeCount) / seconds
    }
}
