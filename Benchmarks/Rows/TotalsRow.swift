import SluiceModel
import SluiceQuery

/// C2: "20 of N" over a million rows: counting them when the first window opens, and then each commit, beside the same
/// window without its total.
struct TotalsRow {
    private enum Place: String, CaseIterable {
        case outside = "far outside, moved"
        case insertion = "inserted far outside"
        case deletion = "deleted far outside"
        case top = "inserted at the top"
    }

    private static let limit = 20

    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() throws -> [Measurement] {
        let count = workbench.options.size(1_000_000, quick: 2_000)
        var openTimes: [Bool: [Double]] = [:]
        var rates: [Place: [Bool: [Double]]] = [:]
        for _ in 0..<workbench.options.runCount {
            for hasTotal in [false, true] {
                let world = try WindowUpkeepWorld(
                    rowCount: count, limit: Self.limit, isIndexed: true, hasTotal: hasTotal)
                openTimes[hasTotal, default: []].append(world.openingTime / .milliseconds(1))
                var next = count
                for place in Place.allCases {
                    rates[place, default: [:]][hasTotal, default: []].append(
                        try run(place, &next, in: world, of: count))
                }
            }
        }
        let title = "\(Self.limit) of \(Double(count).shown)"
        return [
            Measurement(
                .totals, "\(title): to open, beside a window without a total", ours: openTimes[true] ?? [],
                floor: openTimes[false] ?? [], unit: "ms", goal: .none)
        ]
            + Place.allCases.map { place in
                Measurement(
                    .totals, "\(title): \(place.rawValue)", ours: rates[place]?[true] ?? [],
                    floor: rates[place]?[false] ?? [], unit: "updates/s", goal: .ratioAtLeast(0.5))
            }
    }

    /// - Returns: updates in a second.
    private func run(_ place: Place, _ next: inout Int, in world: WindowUpkeepWorld, of count: Int) throws -> Double {
        let roundCount = workbench.options.size(20_000, quick: 200)
        var duration = Duration.zero
        for round in 0..<roundCount {
            let commit = try world.commit {
                switch place {
                case .outside: return world.update(1_000 + round % 900, rank: count * 4 + round)
                case .insertion:
                    next += 1
                    return world.insert(next - 1, rank: count * 8 + round)
                case .deletion:
                    next -= 1
                    return world.delete(next)
                case .top: return world.insert(count * 2 + round, rank: -1 - round)
                }
            }
            let start = ContinuousClock.now
            _ = try world.follow(commit)
            duration += ContinuousClock.now - start
        }
        try check(world.shown, is: try world.expected(), "the window")
        if let total = world.total { try check(total, is: try world.expectedTotal(), "the total") }
        return Double(roundCount) / (duration / .seconds(1))
    }
}
