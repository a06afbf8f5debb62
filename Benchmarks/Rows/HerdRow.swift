import Sluice

/// R11: many subscribers that ask for the same objects at once, until each has all frames.
struct HerdRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        Descriptors.raiseLimit()
        let count = workbench.options.size(2_048, quick: 64)
        let carCount = workbench.options.size(10_000, quick: 3_000)
        let pairs = try await workbench.repeated { _ in
            let (ours, byteCount) = try await subscribe(count, cars: carCount)
            return (ours: ours, floor: try rawTimes(count, byteCount: byteCount), byteCount)
        }
        let megabytes = Double(count * pairs[0].2) / 1e6
        return [
            Measurement(
                .herd,
                "\(count) subscribers ask for the same \(Double(carCount).shown) cars at once, \(megabytes.shown) MB",
                ours: pairs.map(\.ours.seconds), floor: pairs.map(\.floor.seconds), unit: "s",
                goal: .ratioAtMost(1.5)),
            Measurement(
                .herd, "the same: processor time of the server",
                ours: pairs.map(\.ours.processorSeconds), floor: pairs.map(\.floor.processorSeconds), unit: "s",
                goal: .none),
        ]
    }

    /// What it took until every subscriber had everything.
    private struct Times {
        /// Since the word to begin.
        let seconds: Double
        /// Of this process, in which the server is, and not the subscribers.
        let processorSeconds: Double

        init(from start: UInt64, to end: UInt64, since counts: ProcessCounts) throws {
            seconds = Double(end - start) / 1e9
            processorSeconds = (try ProcessCounts.now().processorTime - counts.processorTime) / 1e6
        }
    }

    /// - Returns: the times, and the bytes that each subscriber received.
    private func subscribe(_ count: Int, cars carCount: Int) async throws -> (Times, Int) {
        try await workbench.withServer { url in
            let store = try await workbench.openStore("writer", models: [Car.self], url: url)
            try await store.insert(Car.numbered(0..<carCount))
            let port = url.split(separator: ":")[2].split(separator: "/")[0]
            let readers = try ReaderProcess(port: UInt16(port) ?? 0, count: count, herd: nil)
            defer { readers.stop() }
            try readers.waitUntilReady()
            let counts = try ProcessCounts.now()
            let start = ReaderProcess.now
            try readers.begin()
            let result = try readers.waitForRound()
            let times = try Times(from: start, to: result.finishedAt, since: counts)
            await store.close()
            try check(result.byteCount / count > carCount * 4, is: true, "whether all cars can be in the bytes")
            return (times, result.byteCount / count)
        }
    }

    private func rawTimes(_ count: Int, byteCount: Int) throws -> Times {
        let server = try RawBroadcast()
        let readers = try ReaderProcess(port: server.port, count: count, herd: byteCount)
        defer { readers.stop() }
        try server.accept(count)
        try readers.waitUntilReady()
        let counts = try ProcessCounts.now()
        try readers.begin()
        let start = ReaderProcess.now
        try server.sendMuch([UInt8](repeating: 7, count: byteCount))
        let result = try readers.waitForRound()
        let times = try Times(from: start, to: result.finishedAt, since: counts)
        try check(result.byteCount, is: byteCount * count, "the bytes that all readers received")
        return times
    }
}
