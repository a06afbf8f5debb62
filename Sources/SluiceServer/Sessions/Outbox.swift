internal import SluiceWire

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
}

/// Gathers what is to be done after a turn, in order.
struct Outbox {
    private var actions: [DatabaseAction] = []

    mutating func send(_ messages: [ServerMessage], to id: SessionID) {
        guard !messages.isEmpty else { return }
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        actions.append(.send(frame.finish(), to: id.connection))
    }

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
