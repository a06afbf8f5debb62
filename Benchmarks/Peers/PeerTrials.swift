/// What R3 and R4 do, done by a peer.
struct PeerTrials {
    private let peer: any Peer

    init(_ peer: any Peer) { self.peer = peer }

    /// R3: the time from calling a write on A until its change is on B, in milliseconds, for each of `count` writes.
    func propagation(_ count: Int) async throws -> [Double] {
        let cars = try peer.makeCars(100)
        let seen = Progress()
        let observer = try cars.observe { _, views in seen.report(views) }
        let writer = try cars.writer()
        var times: [Double] = []
        for number in 1...count + 20 {
            let called = ContinuousClock.now
            try writer.write(number)
            let time = try await seen.wait(for: number, from: [observer]) - called
            // The first rounds warm up.
            if number > 20 { times.append(time / .milliseconds(1)) }
        }
        try writer.endObservers()
        return times
    }

    /// R4: how many commits a second the peer takes until B has all, each car as it is in the end.
    func commits(_ count: Int, _ form: CommitForm) async throws -> Double {
        let carCount = 1_000
        try check(carCount % form.writerCount, is: 0, "the rest of cars that no writer has alone")
        let cars = try peer.makeCars(carCount)
        let expected = (1...count).reduce(into: [Int](repeating: 0, count: carCount)) { $0[$1 % carCount] = $1 }
        let finished = Progress()
        let tally = Tally()
        let observer = try cars.observe { car, views in
            if expected[car] == views, tally.isFirst(String(car)) { finished.report(tally.count) }
        }
        let writers = try (0..<form.writerCount).map { _ in try cars.writer(tellsEach: form.tellsEach) }
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, writer) in writers.enumerated() {
                let numbers = stride(from: index + 1, through: count, by: form.writerCount)
                group.addTask {
                    try await onThread { try writer.write(numbers, unansweredMax: form.unansweredMax) }
                }
            }
            try await group.waitForAll()
        }
        if !form.tellsEach { try writers[0].tellOfAll() }
        let seen = try await finished.wait(for: min(count, carCount), from: [observer])
        try writers[0].endObservers()
        return Double(count) / ((seen - start) / .seconds(1))
    }
}
