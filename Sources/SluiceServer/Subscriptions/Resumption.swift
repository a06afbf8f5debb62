internal import SluiceWire

/// Collects the messages that bring the subscriptions of a returning client up to date in one frame.
struct Resumption {
    var messages: [ServerMessage] = []
    /// Requests to the client, which are sent after the messages.
    var inquiries: [ServerMessage] = []
    /// The room that is left, in bytes before compression.
    var byteCountLeft: Int

    init(byteCountLeft: Int) { self.byteCountLeft = byteCountLeft }
}
