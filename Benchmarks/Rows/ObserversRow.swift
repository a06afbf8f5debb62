import Sluice

/// O1: many observers of one object each, in one store: to begin, to change one object, and to end.
struct ObserversRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    private struct Run {
        var begin = 0.0
        var change = 0.0
        var end = 0.0
    }

    func measure() async throws -> [Measurement] {
        let few = workbench.options.size(500, quick: 50)
        let many = 4 * few
        let runs = try await workbench.repeated { _ in (few: try await run(few), many: try await run(many)) }
        func measurement(_ what: String, _ part: (Run) -> Double) -> Measurement {
            Measurement(
                .observers, "\(what) with \(Double(many).shown) observers of one object, beside \(Double(few).shown)",
                ours: runs.map { part($0.many) }, floor: runs.map { part($0.few) }, unit: "µs",
                goal: .ratioAtMost(1.5))
        }
        return [
            measurement("to observe", \.begin), measurement("a change", \.change), measurement("to stop", \.end),
        ]
    }

    /// - Returns: microseconds for one observer or one change.
    private func run(_ count: Int) async throws -> Run {
        try await workbench.withServer { url in
            let cars = Car.numbered(0..<count)
            let source = try await workbench.openStore("source", models: [Car.self], url: url)
            try await source.insert(cars)
            await source.close()
            let store = try await workbench.openStore("observers", models: [Car.self], url: url)
            try await store.connected(timeout: .seconds(30))
            let complete = Progress()
            let changed = Progress()
            let tally = Tally()
            var tokens: [NotificationToken] = []
            var run = Run()
            run.begin = try await workbench.seconds {
                for car in cars {
                    let results = try store.results(Car.self, key: car.vin)
                    tokens.append(
                        try results.observe { change in
                            if change.state == .complete, tally.isFirst(car.vin) { complete.report(tally.count) }
                            if let car = change.results.first { changed.report(car.views) }
                        })
                }
                _ = try await complete.wait(for: count)
            }
            let changeCount = workbench.options.size(200, quick: 20)
            run.change = try await workbench.seconds {
                for number in 0..<changeCount {
                    try await store.write { transaction in
                        try transaction.update(cars[number % count]) { $0.views = 1_000_000 + number }
                    }
                }
                _ = try await changed.wait(for: 1_000_000 + changeCount - 1)
            }
            try await store.uploaded(timeout: .seconds(60))
            run.end = await workbench.seconds { for token in tokens { token.stop() } }
            try check(try store.objects(Car.self).count(), is: 0, "the cars that are left when nobody observes")
            await store.close()
            return Run(
                begin: run.begin / Double(count) * 1e6, change: run.change / Double(changeCount) * 1e6,
                end: run.end / Double(count) * 1e6)
        }
    }
}
