internal import SluiceModel
internal import SluiceTransport

/// Sends the connections what databases want sent, and ends their sessions.
struct FanOut: Sendable {
    let connections: OpenConnections
    let ledger: QuotaLedger
    /// A connection with more bytes waiting to be sent is closed; its client reconnects and resumes.
    let queueByteCountMax: Int
    let now: @Sendable () -> Timestamp
    let log: LogSink?
    let metrics: (any ServerMetrics)?

    /// With more bytes waiting for a connection, messages that may be lost are not added.
    private static let offerQueueMax = 1 << 20

    /// - Parameter moment: the turn that wants it.
    func carryOut(_ actions: [DatabaseAction], of moment: DatabaseMoment) {
        for action in actions {
            switch action {
            case .send(let frame, let id):
                if let peer = connections[id] { send(SharedBuffer(frame), to: peer, moment) }
            case .broadcast(let frame, let ids):
                let buffer = SharedBuffer(frame)
                for peer in connections[ids] { send(buffer, to: peer, moment) }
            case .offer(let frame, let ids):
                let buffer = SharedBuffer(frame)
                for peer in connections[ids] where peer.connection.queuedBytes <= Self.offerQueueMax {
                    peer.send(buffer, of: moment)
                }
            case .end(let id, let reason):
                connections[id.connection]?.end(id.session, because: SessionEnding(reason), now: now())
            }
        }
    }

    private func send(_ buffer: SharedBuffer, to peer: PeerConnection, _ moment: DatabaseMoment) {
        guard peer.connection.queuedBytes + buffer.count <= queueMax(of: peer) else {
            metrics?.slowClientClosed()
            log?(.warning, "a connection is too slow and is closed", [("peer", peer.name)])
            return peer.connection.abort()
        }
        metrics?.sentToClient(byteCount: buffer.count)
        peer.send(buffer, of: moment)
    }

    /// The bytes that may wait for a connection; of several sessions on it the smallest share counts.
    private func queueMax(of peer: PeerConnection) -> Int {
        guard ledger.limitsQueues else { return queueByteCountMax }
        return peer.users.compactMap { ledger.queueByteCountMax(of: peer.holder($0)) }.reduce(queueByteCountMax, min)
    }
}
