import Synchronization

/// One end of a connection in a ``LoopbackNetwork``.
final class LoopbackConnection: MessageConnection {
    let id: ConnectionID
    let peerDescription: String
    let queued = Atomic<Int>(0)
    private let network: LoopbackNetwork

    init(id: ConnectionID, peer: String, network: LoopbackNetwork) {
        self.id = id
        peerDescription = peer
        self.network = network
    }

    var queuedBytes: Int { queued.load(ordering: .relaxed) }

    func send(_ message: SharedBuffer) {
        network.update { state in
            guard let end = state.ends[id], !end.isEndedByOwner else { return }
            let total = queued.add(message.count, ordering: .relaxed).newValue
            if total > network.options.lowWaterByteCount { state.ends[id]?.isAboveLowWater = true }
            state.post(.message(message), to: end.peer)
        }
    }

    func admit() {}

    func close(code: CloseCode, reason: String) {
        network.update { state in
            guard let end = state.ends[id], !end.isEndedByOwner else { return }
            state.ends[id]?.isEndedByOwner = true
            guard end.delegate == nil || state.ends[end.peer]?.delegate != nil else {
                // The connection is still opening, so there is no peer to shake hands with.
                state.ends[end.peer] = nil
                return state.end(id, nil)
            }
            state.post(.close(code, reason: reason), to: end.peer)
        }
    }

    func abort() {
        network.update { state in
            guard let end = state.ends[id] else { return }
            state.ends[id]?.isEndedByOwner = true
            state.end(id, TransportError(.aborted, "the connection was aborted by its owner"))
            state.end(
                end.peer,
                TransportError(
                    .connectionLost,
                    "\(state.ends[end.peer]?.connection.peerDescription ?? "the peer") reset the connection",
                    outlook: .passing))
        }
    }

    func pauseReceiving(for reason: PauseReason) { network.update { _ = $0.ends[id]?.pauses.insert(reason) } }

    func resumeReceiving(after reason: PauseReason) { network.update { _ = $0.ends[id]?.pauses.remove(reason) } }
}
