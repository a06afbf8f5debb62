package import SluiceWire

/// What a database wants done.
package enum DatabaseAction: Sendable {
    /// Sends one encoded frame to a connection.
    case send([UInt8], to: UInt64)
    /// Sends the same encoded frame to many connections.
    case broadcast([UInt8], to: [UInt64])
    /// Sends the same encoded frame to those of many connections that are not behind; for the others it is lost.
    case offer([UInt8], to: [UInt64])
    /// Removes the session: nothing more will be sent to it. The reason is for the log.
    case end(SessionID, reason: String)
    /// Has the server answer a request for a report of a session that may ask for it.
    case consult(ClientMessage.ReportRequest, of: SessionID)
}

/// Gathers what parts of the engine want done, in order: what is to be sent, and the sessions that cannot go on.
struct TurnOutput {
    private var actions: [DatabaseAction] = []
    /// The sessions that must end, with the reasons. Nothing is sent to them any more but why.
    private(set) var failures: [(session: SessionID, error: any Error)] = []

    mutating func send(_ messages: [ServerMessage], to id: SessionID) {
        guard !messages.isEmpty else { return }
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        actions.append(.send(frame.finish(), to: id.connection))
    }

    /// Reports a session that cannot go on.
    mutating func fail(_ id: SessionID, _ error: any Error) { failures.append((id, error)) }

    /// Takes over what another part wants done, but for the sessions that cannot go on.
    mutating func append(_ other: TurnOutput) { actions += other.actions }

    mutating func append(_ actions: [DatabaseAction]) { self.actions += actions }

    /// Tells a client why its session ends, after which nothing more is sent to it.
    mutating func end(_ id: SessionID, _ end: SessionEnd) {
        send([end.failure(of: id)], to: id)
        actions.append(.end(id, reason: end.message))
    }

    mutating func take() -> [DatabaseAction] {
        defer { actions = [] }
        return actions
    }
}
