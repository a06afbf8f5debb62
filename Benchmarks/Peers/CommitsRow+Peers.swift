extension CommitsRow {
    /// The rates of R4 at each peer, by its forms.
    func peerRates(_ count: Int) async throws -> [[Double]] {
        var rates: [[Double]] = []
        for peer in workbench.peers {
            var ofPeer: [Double] = []
            for form in peer.commitForms { ofPeer.append(try await PeerTrials(peer).commits(count, form)) }
            rates.append(ofPeer)
        }
        return rates
    }

    /// Ours beside the peers in each of their forms.
    ///
    /// - Parameter peerRates: those of each run, by peer and form.
    func besidePeers(_ peerRates: [[[Double]]], ours: [Double], _ count: Int) -> [Measurement] {
        workbench.peers.enumerated().flatMap { index, peer in
            peer.commitForms.enumerated().map { number, form in
                Measurement(
                    .commits,
                    "\(Double(count).shown) commits until B has all, beside \(peer.name): \(peer.path), \(form.text)",
                    ours: ours, floor: peerRates.map { $0[index][number] }, unit: "commits/s",
                    goal: peer.goals.commits)
            }
        }
    }
}
