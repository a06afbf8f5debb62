extension FanOutRow {
    /// R8 beside the peers: ours and theirs in turns, each with as many connections as the peer can have.
    func besidePeers(rounds: Int) async throws -> [Measurement] {
        var lines: [Measurement] = []
        for peer in workbench.peers {
            let count = min(peer.readerMax, workbench.options.size(peer.readerMax, quick: peer.readerMax / 20))
            let pairs = try await workbench.repeated { _ in
                (
                    ours: try await broadcast(to: count, rounds: rounds).0,
                    theirs: try await peer.fanOut(to: count, rounds: rounds)
                )
            }
            lines.append(
                Measurement(
                    .fanOut, "a commit to \(Double(count).shown) connections, beside \(peer.name): \(peer.path)",
                    ours: pairs.map(\.ours), floor: pairs.map(\.theirs), unit: "messages/s", goal: .none))
        }
        return lines
    }
}
