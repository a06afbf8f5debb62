import SluiceModel
import SluiceQuery

/// E1: a checked predicate on one row, beside a closure written by hand that asks the same.
struct EvaluationRow {
    private struct Case {
        let name: String
        let query: String
        /// Whether no evaluation may allocate anything.
        let isFree: Bool
        let floor: (SluiceModel.Row) throws -> Bool
    }

    private let workbench: Workbench
    private let schema: Schema
    private let world = World()
    private let rows: [SluiceModel.Row]

    init(_ workbench: Workbench) throws {
        self.workbench = workbench
        schema = try Schema([
            ClassSchema(
                "Car",
                properties: [
                    Property("name", .scalar(.string)), Property("price", .scalar(.double)),
                    Property("year", .scalar(.int)), Property("dealer", .link("Dealer")),
                ]),
            ClassSchema(
                "Dealer", primaryKey: "code",
                properties: [Property("code", .scalar(.int)), Property("city", .scalar(.string))]),
        ])
        let names = ["Toyota", "Kia", "Volkswagen Golf Variant", "Renault"]
        for number in 0..<40 {
            world.rows[ObjectRef(1, .int(Int64(number)))] = SluiceModel.Row(
                key: .int(Int64(number)),
                values: [.int(Int64(number)), .string(number % 4 == 0 ? "Ulm" : "Neustadt an der Weinstraße")])
        }
        rows = (0..<1_000).map { number in
            SluiceModel.Row(
                key: .id(ObjectID(high: 1, low: UInt64(number))),
                values: [
                    .string(names[number % names.count]), .double(Double(number * 37 % 20_000)),
                    .int(Int64(1990 + number % 30)), .link(.int(Int64(number % 40))),
                ])
        }
    }

    func measure() throws -> [Measurement] {
        let world = world
        let cases = [
            Case(name: "a number", query: "Car WHERE price < 9000", isFree: true) { row in
                if case .double(let price) = row.values[1] { price < 9_000 } else { false }
            },
            Case(name: "two numbers", query: "Car WHERE price < 9000 AND year >= 2005", isFree: true) { row in
                guard case .double(let price) = row.values[1], case .int(let year) = row.values[2] else { return false }
                return price < 9_000 && year >= 2005
            },
            Case(name: "a string", query: "Car WHERE name == 'Volkswagen Golf Variant'", isFree: true) { row in
                if case .string(let name) = row.values[0] {
                    UTF8Order.equal(name, "Volkswagen Golf Variant")
                } else {
                    false
                }
            },
            Case(name: "a link path", query: "Car WHERE dealer.city == 'Ulm'", isFree: false) { row in
                guard case .link(let key) = row.values[3], let dealer = try world.row(ObjectRef(1, key)),
                    case .string(let city) = dealer.values[1]
                else { return false }
                return UTF8Order.equal(city, "Ulm")
            },
        ]
        return try cases.flatMap { try measure($0) }
    }

    private func measure(_ evaluation: Case) throws -> [Measurement] {
        let evaluator = Evaluator(try Query.parse(evaluation.query, schema: schema), schema: schema)
        let ours: (SluiceModel.Row) throws -> Bool = { [world] row in try evaluator.matches(row, in: world) }
        let rounds = workbench.options.size(2_000, quick: 200)
        var times: (ours: [Double], floor: [Double]) = ([], [])
        guard try count(ours, rounds: 1) == count(evaluation.floor, rounds: 1) else {
            throw BenchmarkError("\(evaluation.query): the floor asks something else")
        }
        for _ in 0..<5 {
            times.ours.append(try nanoseconds(ours, rounds: rounds))
            times.floor.append(try nanoseconds(evaluation.floor, rounds: rounds))
        }
        guard AllocationCounter.count({ _ = workbench.freshPath("none") }) > 0 else {
            throw BenchmarkError("allocations are not counted")
        }
        let allocations = try AllocationCounter.count { _ = try count(ours, rounds: 1) }
        return [
            Measurement(
                .evaluation, "\(evaluation.name), against a closure", ours: times.ours, floor: times.floor, unit: "ns",
                goal: .none),
            Measurement(
                .evaluation, "\(evaluation.name), allocations", ours: Double(allocations) / Double(rows.count),
                unit: "each", goal: evaluation.isFree ? .atMost(0) : .none),
        ]
    }

    private func nanoseconds(_ matches: (SluiceModel.Row) throws -> Bool, rounds: Int) throws -> Double {
        let start = ContinuousClock.now
        _ = try count(matches, rounds: rounds)
        return (ContinuousClock.now - start) / .nanoseconds(1) / Double(rounds * rows.count)
    }

    private func count(_ matches: (SluiceModel.Row) throws -> Bool, rounds: Int) throws -> Int {
        var count = 0
        for _ in 0..<rounds { for row in rows where try matches(row) { count += 1 } }
        return count
    }
}

/// Objects in memory.
private final class World: ObjectSource {
    var rows: [ObjectRef: SluiceModel.Row] = [:]

    func row(_ object: ObjectRef) throws -> SluiceModel.Row? { rows[object] }

    func isPresent(_ object: ObjectRef) throws -> Bool { rows[object] != nil }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {}
}
