internal import SluiceWire

/// Collects the messages that bring the subscriptions of a returning client up to date in one frame, so that the client
/// moves to the new version once, with all subscriptions that it resumed.
struct Resumption {
    private(set) var messages: [ServerMessage] = []
    /// Requests to the client, which are sent after the messages.
    private(set) var inquiries: [ServerMessage] = []
    /// The room that is left, in bytes before compression.
    private(set) var byteCountLeft: Int

    init(byteCountLeft: Int) { self.byteCountLeft = byteCountLeft }

    mutating func add(_ messages: [ServerMessage], byteCount: Int) {
        self.messages += messages
        byteCountLeft -= byteCount
    }

    /// Removes and returns everything so far.
    mutating func take() -> Resumption {
        defer {
            messages = []
            inquiries = []
        }
        return self
    }

    mutating func ask(_ inquiry: ServerMessage) { inquiries.append(inquiry) }
}

extension TurnOutput {
    /// Sends what brings a client up to date.
    mutating func send(_ resumed: Resumption, to session: SessionID) {
        send(resumed.messages, to: session)
        send(resumed.inquiries, to: session)
    }
}
