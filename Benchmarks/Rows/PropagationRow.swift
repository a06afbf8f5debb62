import Sluice

/// R3: how long after a write on A its change event comes on B: with every write durable, and with clients whose writes
/// survive a killed process only. With `--peers` also beside what other servers do.
struct PropagationRow {
    let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    struct Run {
        var afterReturn: [Double] = []
        var afterCall: [Double] = []
        var sync = 0.0
        var roundTrip = 0.0
    }

    func measure() async throws -> [Measurement] {
        let count = workbench.options.size(1_000, quick: 100)
        let runs = try await workbench.repeated { _ in try await run(count, .full) }
        let pairs = try await workbench.repeated { _ in
            (ours: try await run(count, .process), peers: try await peerTimes(count))
        }
        let quick = pairs.map(\.ours)
        let quickP50 = quick.map { $0.afterReturn.percentile(0.5) }
        let p50 = runs.map { $0.afterReturn.percentile(0.5) }
        let p99 = runs.map { $0.afterReturn.percentile(0.99) }
        let floor = runs.map { $0.sync + $0.roundTrip }
        let samples = [
            "p50": p50, "p99": p99, "fdatasync": runs.map(\.sync), "round trip": runs.map(\.roundTrip),
            "p50 from the call": runs.map { $0.afterCall.percentile(0.5) },
        ]
        return [
            Measurement(
                .propagation, "write on A to event on B, p50", ours: p50.median, floor: floor.median, unit: "ms",
                goal: .atMost(0.4), samples: samples),
            Measurement(.propagation, "the same, p99", ours: p99.median, unit: "ms", goal: .atMost(1.5)),
            Measurement(
                .propagation, "p50 against one fdatasync and one round trip", ours: p50.median, floor: floor.median,
                unit: "ms", goal: .ratioAtMost(3)),
            Measurement(
                .propagation, "from calling write on A, p50", ours: runs.map { $0.afterCall.percentile(0.5) }.median,
                floor: floor.median, unit: "ms", goal: .none),
            Measurement(
                .propagation, "write on A to event on B, clients not synced, p50", ours: quickP50.median,
                floor: quick.map { $0.sync + $0.roundTrip }.median, unit: "ms", goal: .atMost(0.25),
                samples: ["p50": quickP50]),
        ] + besidePeers(pairs.map(\.peers), synced: runs, notSynced: quick)
    }

    private func run(_ count: Int, _ durability: StoreConfiguration.Durability) async throws -> Run {
        var run = Run()
        run.sync = try DiskSync.samples(count, path: workbench.freshPath("sync")).median * 1000
        run.roundTrip = try await RoundTrip.samples(count).median * 1000
        try await workbench.withServer { url in
            let pair = try await Pair(workbench, url: url, carCount: 100, durability: durability)
            for number in 1...count + 20 {
                let called = ContinuousClock.now
                try await pair.write(number)
                let returned = ContinuousClock.now
                let seen = try await pair.seen.wait(for: number)
                // The first rounds warm up.
                guard number > 20 else { continue }
                run.afterReturn.append(max(0, (seen - returned) / .milliseconds(1)))
                run.afterCall.append((seen - called) / .milliseconds(1))
            }
            await pair.close()
        }
        return run
    }
}
