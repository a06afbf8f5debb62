internal import SluiceWire

/// What brings the subscriptions of a returning client up to date, all in one frame.
struct Resumption {
    var messages: [ServerMessage] = []
    /// What is asked of the client, after the messages.
    var inquiries: [ServerMessage] = []
    /// What there is still room for, in bytes before compression.
    var byteCountLeft: Int

    init(byteCountLeft: Int) { self.byteCountLeft = byteCountLeft }
}
