import Sluice

/// O2: observers of different queries in one store: what a write costs that concerns none of them, and how long it
/// takes until all of them are complete.
struct ObservedQueriesRow {
    /// Conditions of which each number makes another one.
    private enum Shape: String, CaseIterable {
        case equality = "equalities"
        case range = "ranges"
        case alternative = "alternatives"
        case window = "windows"
        case text = "CONTAINS"

        /// A query that cars have no part in.
        func foreign(_ number: Int, in store: Store) -> Results<Car> {
            let cars = store.objects(Car.self)
            return switch self {
            case .equality: cars.filter("name == $0", "no car \(number)")
            case .range: cars.filter("price > $0 AND price < $1", 1_000_000 + number, 1_000_002 + number)
            case .alternative: cars.filter("name == $0 OR color == $1", "no car \(number)", "no color \(number)")
            case .window: cars.filter("price > $0", 1_000_000 + number).sorted(by: \.year).limit(20)
            case .text: cars.filter("name CONTAINS $0", "no car \(number)")
            }
        }
    }

    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        var measurements: [Measurement] = []
        let few = workbench.options.size(50, quick: 10)
        let many = workbench.options.size(5_000, quick: 100)
        for shape in Shape.allCases {
            let runs = try await workbench.repeated { _ in
                (few: try await writeBeside(few, shape), many: try await writeBeside(many, shape))
            }
            measurements.append(
                Measurement(
                    .observedQueries,
                    "a write unrelated to \(Double(many).shown) observed \(shape.rawValue), beside \(Double(few).shown)",
                    ours: runs.map(\.many), floor: runs.map(\.few), unit: "µs",
                    goal: .ratioAtMost(1.5)))
        }
        let queryCount = workbench.options.size(300, quick: 20)
        for condition in ["name == $0", "name CONTAINS $0"] {
            let runs = try await workbench.repeated { _ in

                (
                    few: try await begin(queryCount / 4, of: queryCount, condition),
                    many: try await begin(queryCount, of: queryCount, condition)
                )
            }
            measurements.append(
                Measurement(
                    .observedQueries,
                    "to observe each of \(queryCount) queries of 100 cars by \(condition), beside \(queryCount / 4)",
                    ours: runs.map(\.many), floor: runs.map(\.few), unit: "µs", goal: .ratioAtMost(1.5)))
        }
        return measurements
    }

    /// - Returns: the microseconds of a write that concerns none of the observers.
    private func writeBeside(_ count: Int, _ shape: Shape) async throws -> Double {
        let store = try await workbench.openStore("observed", models: [Car.self])
        let cars = Car.numbered(0..<1_000)
        try await store.insert(cars, hasServer: false)
        let started = Progress()
        let events = Tally()
        var tokens: [NotificationToken] = []
        for number in 0..<count {
            let results = shape.foreign(number, in: store)
            tokens.append(
                try results.observe { change in
                    _ = events.isFirst("\(number) \(change.isInitial) \(change.results.count)")
                    started.report(events.count)
                })
        }
        _ = try await started.wait(for: count)
        let writeCount = workbench.options.size(5_000, quick: 20)
        let seconds = try await workbench.seconds {
            for number in 0..<writeCount {
                try await store.write { try $0.update(cars[number % cars.count]) { $0.price += 1 } }
            }
        }
        try check(events.count, is: count, "the events, of which each observer has one")
        withExtendedLifetime(tokens) {}
        await store.close()
        return seconds / Double(writeCount) * 1e6
    }

    /// - Parameter groupCount: the number of different names that the cars have.
    /// - Returns: the microseconds for each query, from the first observer until the last is complete.
    private func begin(_ queryCount: Int, of groupCount: Int, _ condition: String) async throws -> Double {
        try await workbench.withServer { url in
            let size = 100
            let source = try await workbench.openStore("source", models: [Car.self], url: url)
            try await source.insert(
                (0..<groupCount * size).map { number in
                    var car = Car.numbered(number)
                    car.name = "group \(number / size)."
                    return car
                })
            await source.close()
            let store = try await workbench.openStore("observed", models: [Car.self], url: url)
            try await store.connected(timeout: .seconds(30))
            let complete = Progress()
            let tally = Tally()
            var tokens: [NotificationToken] = []
            let seconds = try await workbench.seconds {
                for number in 0..<queryCount {
                    let results = store.objects(Car.self).filter(condition, "group \(number).")
                    tokens.append(
                        try results.observe { change in
                            if change.state == .complete, change.results.count == size, tally.isFirst("\(number)") {
                                complete.report(tally.count)
                            }
                        })
                }
                _ = try await complete.wait(for: queryCount)
            }
            try check(
                try store.objects(Car.self).count(), is: queryCount * size, "the cars of the store that observes")
            withExtendedLifetime(tokens) {}
            await store.close()
            return seconds / Double(queryCount) * 1e6
        }
    }
}
