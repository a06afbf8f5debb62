internal import SluiceModel
internal import SluiceWire

/// Sends the connections what databases want sent, and ends their sessions.
struct FanOut: Sendable {
    let connections: OpenConnections
    let ledger: QuotaLedger
    /// A connection with more bytes waiting to be sent is closed; its client reconnects and resumes.
    let queueByteCountMax: Int
    let now: @Sendable () -> Timestamp
    let log: LogSink?
    let metrics: (any ServerMetrics)?
    let reports: ServerReports

    /// With more bytes waiting for a connection, messages that may be lost are not added.
    private static let offerQueueMax = 1 << 20

    /// - Parameter moment: the turn that wants it.
    func carryOut(_ actions: [DatabaseAction], of moment: DatabaseMoment) {
        let time = now()
        for action in actions {
            switch action {
            case .send(let frame, let id):
                if let peer = connections[id] { send(OutgoingFrame(frame), to: peer, moment, now: time) }
            case .broadcast(let frame, let ids):
                let frame = OutgoingFrame(frame)
                for peer in connections[ids] { send(frame, to: peer, moment, now: time) }
            case .offer(let frame, let ids):
                let frame = OutgoingFrame(frame)
                for peer in connections[ids] where peer.connection.queuedBytes <= Self.offerQueueMax {
                    peer.send(frame, of: moment, now: time)
                }
            case .consult(let request, let id):
                if let peer = connections[id.connection] { reports.answer(request, of: moment.database, to: peer) }
            case .end(let id, let reason):
                connections[id.connection]?.end(id.session, because: SessionEnding(reason), now: now())
            }
        }
    }

    private func send(_ frame: OutgoingFrame, to peer: PeerConnection, _ moment: DatabaseMoment, now: Timestamp) {
        guard peer.connection.queuedBytes + frame.byteCount <= queueMax(of: peer) else {
            metrics?.slowClientClosed()
            log?(.warning, "a connection is too slow and is closed", [("peer", peer.name)])
            return peer.connection.abort()
        }
        metrics?.sentToClient(byteCount: frame.byteCount)
        peer.send(frame, of: moment, now: now)
    }

    /// The bytes that may wait for a connection; of several sessions on it the smallest share counts.
    private func queueMax(of peer: PeerConnection) -> Int {
        guard ledger.limitsQueues else { return queueByteCountMax }
        return peer.users.compactMap { ledger.queueByteCountMax(of: peer.holder($0)) }.reduce(queueByteCountMax, min)
    }
}
