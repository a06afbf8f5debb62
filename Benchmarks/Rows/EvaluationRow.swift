import CAllocationCounter
import SluiceModel
import SluiceQuery

/// E1: evaluating a checked predicate on one row. Plain predicates are compared with a hand-written closure for the
/// same condition.
struct EvaluationRow {
    private struct Case {
        let name: String
        let query: String
        /// The hand-written closure; nil where nothing is compared.
        var floor: ((SluiceModel.Row) throws -> Bool)?
    }

    private let workbench: Workbench
    private let world: EvaluationWorld

    init(_ workbench: Workbench) throws {
        self.workbench = workbench
        world = try EvaluationWorld()
    }

    func measure() throws -> [Measurement] { try (plainCases + otherCases).flatMap { try measure($0) } }

    private var plainCases: [Case] {
        [
            Case(name: "a number", query: "price < 9000") { row in
                if case .double(let price) = row.values[1] { price < 9_000 } else { false }
            },
            Case(name: "two numbers", query: "price < 9000 AND year >= 2005") { row in
                guard case .double(let price) = row.values[1], case .int(let year) = row.values[2] else { return false }
                return price < 9_000 && year >= 2005
            },
            Case(name: "a string", query: "name == 'Volkswagen Golf Variant'") { row in
                if case .string(let name) = row.values[0] {
                    UTF8Order.equal(name, "Volkswagen Golf Variant")
                } else {
                    false
                }
            },
            Case(name: "a link path", query: "dealer.city == 'Ulm'") { [world] row in
                guard case .link(let key) = row.values[3], let dealer = try world.row(ObjectRef(1, key)),
                    case .string(let city) = dealer.values[1]
                else { return false }
                return UTF8Order.equal(city, "Ulm")
            },
        ]
    }

    private var otherCases: [Case] {
        [
            Case(name: "CONTAINS[c]", query: "name CONTAINS[c] 'GOLF'"),
            Case(name: "LIKE[c]", query: "name LIKE[c] '*w?gen*var*'"),
            Case(name: "IN with strings", query: "name IN {'Fiat', 'Kia', 'Seat', 'Toyota'}"),
            Case(name: "arithmetic", query: "price / 2 + year * 3 < 10000"),
            Case(name: "a map's key", query: "sizes['length'] > 430"),
            Case(name: "@sum of 8", query: "offers.@sum < 50000"),
            Case(name: "@avg of 8", query: "offers.@avg < 9000"),
            Case(
                name: "SUBQUERY", query: "SUBQUERY(bidders, $d, $d.city == 'Ulm' AND $d.code > year - 2000).@count > 0"),
            Case(name: "@links.@count", query: "@links.Dealer.recommended.@count > 20"),
        ]
    }

    private func measure(_ evaluation: Case) throws -> [Measurement] {
        let query = try Query.parse(evaluation.query, className: "Car", schema: world.schema)
        let evaluator = Evaluator(query, schema: world.schema)
        let ours: (SluiceModel.Row) throws -> Bool = { [world] row in try evaluator.matches(row, in: world) }
        let rounds = workbench.options.size(2_000, quick: 20)
        var times: (ours: [Double], floor: [Double]) = ([], [])
        let matches = try count(ours, rounds: 1)
        guard matches > 0, matches < world.cars.count,
            try evaluation.floor.map({ try count($0, rounds: 1) }) ?? matches == matches
        else {
            throw BenchmarkError("\(evaluation.query) has \(matches) results: none, all, or not those of the floor")
        }
        for _ in 0..<5 {
            times.ours.append(try nanoseconds(ours, rounds: rounds))
            if let floor = evaluation.floor { times.floor.append(try nanoseconds(floor, rounds: rounds)) }
        }
        guard allocations({ _ = workbench.freshPath("none") }) > 0 else {
            throw BenchmarkError("allocations are not counted")
        }
        let allocations = try allocations { _ = try count(ours, rounds: 1) }
        let time =
            evaluation.floor == nil
            ? Measurement(
                .evaluation, evaluation.name, ours: times.ours.median, unit: "ns", goal: .none,
                samples: ["ours": times.ours])
            : Measurement(
                .evaluation, "\(evaluation.name), against a closure", ours: times.ours, floor: times.floor, unit: "ns",
                goal: .ratioAtMost(2.5))
        return [
            time,
            Measurement(
                .evaluation, "\(evaluation.name), allocations", ours: Double(allocations) / Double(world.cars.count),
                unit: "each", goal: .atMost(0)),
        ]
    }

    /// How many allocations `body` makes.
    private func allocations(_ body: () throws -> Void) rethrows -> Int {
        let before = allocation_count()
        try body()
        return allocation_count() - before
    }

    private func nanoseconds(_ matches: (SluiceModel.Row) throws -> Bool, rounds: Int) throws -> Double {
        let start = ContinuousClock.now
        _ = try count(matches, rounds: rounds)
        return (ContinuousClock.now - start) / .nanoseconds(1) / Double(rounds * world.cars.count)
    }

    private func count(_ matches: (SluiceModel.Row) throws -> Bool, rounds: Int) throws -> Int {
        var count = 0
        for _ in 0..<rounds { for row in world.cars where try matches(row) { count += 1 } }
        return count
    }
}
