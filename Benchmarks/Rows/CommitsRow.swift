import Sluice

/// R4: commits of one property each, as fast as A can make them, until B has received the last. With `--peers` also beside
/// what other servers do.
struct CommitsRow {
    let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        let count = workbench.options.size(5_000, quick: 500)
        let pairs = try await workbench.repeated { _ in
            let (ours, counts) = try await run(count)
            return (ours: ours, counts: counts, floor: try await rawRate(count), peers: try await peerRates(count))
        }
        return [
            Measurement(
                .commits, "\(Double(count).shown) one-property commits until B has all", ours: pairs.map(\.ours),
                floor: pairs.map(\.floor), unit: "commits/s", goal: .atLeast(10_000)),
            each("waits of threads", pairs.map(\.counts.waitCount), unit: "waits"),
            each("writes to files", pairs.map(\.counts.writeCount), unit: "calls"),
            each("processor time", pairs.map(\.counts.processorTime), unit: "µs"),
        ] + besidePeers(pairs.map(\.peers), ours: pairs.map(\.ours), count)
    }

    private func each(_ name: String, _ values: [Double], unit: String) -> Measurement {
        Measurement(
            .commits, "\(name) for each of them, server and both clients together", ours: values.median, unit: unit,
            goal: .none, samples: ["ours": values])
    }

    private func run(_ count: Int) async throws -> (rate: Double, counts: ProcessCounts) {
        try await workbench.withServer { url in
            let pair = try await Pair(workbench, url: url, carCount: 1_000, durability: .process)
            let start = ContinuousClock.now
            let (seen, counts) = try await ProcessCounts.each(of: count) {
                for number in 1...count { try await pair.write(number) }
                return try await pair.seen.wait(for: count)
            }
            let expected = (1...count).reduce(into: [Int](repeating: 0, count: 1_000)) { $0[$1 % 1_000] = $1 }
            let views = try pair.observer.objects(Car.self).sorted(by: \.vin).fetch().map(\.views)
            try check(views, is: expected, "the views on B")
            await pair.close()
            return (Double(count) / ((seen - start) / .seconds(1)), counts)
        }
    }

    /// The same commits into one file, with SQLite alone.
    private func rawRate(_ count: Int) async throws -> Double {
        let path = workbench.freshPath("raw")
        let store = try await workbench.openStore("raw", models: [Car.self], path: path)
        try await store.insert(Car.numbered(0..<1_000), hasServer: false)
        await store.close()
        let database = try RawDatabase(path: path)
        try database.execute("UPDATE o_Car SET p_views = 0")
        let seconds = try await workbench.seconds {
            try database.commitEach(count, "UPDATE o_Car SET p_views = ?1 WHERE _row = 1 + ?1 % 1000")
        }
        try check(try database.integer("SELECT max(p_views) FROM o_Car"), is: count - 1, "the last commit")
        return Double(count) / seconds
    }
}
