extension PropagationRow {
    /// The times of R3 at each peer, in milliseconds.
    func peerTimes(_ count: Int) async throws -> [[Double]] {
        var times: [[Double]] = []
        for peer in workbench.peers { times.append(try await PeerTrials(peer).propagation(count)) }
        return times
    }

    /// Ours beside the peers. Their time begins when the write is called: when it returns, B may have the change already.
    /// Their clients keep nothing, so the counterpart is our clients that do not sync.
    ///
    /// - Parameter peerTimes: those of each run, by peer.
    func besidePeers(_ peerTimes: [[[Double]]], synced: [Run], notSynced: [Run]) -> [Measurement] {
        workbench.peers.enumerated().flatMap { index, peer in
            func line(_ what: String, _ share: Double, _ ours: [[Double]], _ goal: Measurement.Goal) -> Measurement {
                Measurement(
                    .propagation, "\(what), p\(Int(share * 100)), beside \(peer.name): from calling \(peer.path)",
                    ours: ours.map { $0.percentile(share) }, floor: peerTimes.map { $0[index].percentile(share) },
                    unit: "ms", goal: goal)
            }
            let called = notSynced.map(\.afterCall)
            let syncedCalled = synced.map(\.afterCall)
            return [
                line(
                    "write on A to event on B, clients not synced", 0.5, notSynced.map(\.afterReturn),
                    peer.goals.propagation),
                line("from calling write on A, clients not synced", 0.5, called, .none),
                line("from calling write on A, clients not synced", 0.99, called, .none),
                line("from calling write on A, clients synced", 0.5, syncedCalled, .none),
                line("from calling write on A, clients synced", 0.99, syncedCalled, .none),
            ]
        }
    }
}
