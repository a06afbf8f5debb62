public import Dispatch

/// Ephemeral messages between the stores of one database: who is typing, where a cursor is. Nothing of them is stored,
/// here or on the server; a store that is not connected when one is sent never gets it.
extension StoreSession {
    /// Sends a message to the other stores of this database that listen to a topic now.
    ///
    /// - Parameters:
    ///   - payload: what is sent; at most 16,384 bytes. A store may send 100 messages in a second.
    ///   - topic: the name of the topic, 1 to 256 bytes of UTF-8.
    ///   - timeout: the longest wait for the server's answer; nil waits without limit.
    /// - Returns: how many stores the server has passed the message to, without those at other servers of a cluster. That
    ///   they get it is not certain.
    /// - Throws: ``SyncError`` when there is no session, when the server's rules do not give the user the right
    ///   `messages`, when a limit is exceeded, or when no answer comes in time; `CancellationError`.
    @discardableResult
    public func send(_ payload: [UInt8], to topic: String, timeout: Duration? = nil) async throws -> Int {
        try await hold.core.send(payload, to: topic, timeout: timeout)
    }

    /// Sends a text to the other stores of this database that listen to a topic now, as its UTF-8.
    ///
    /// - Parameters:
    ///   - text: what is sent; at most 16,384 bytes of UTF-8.
    ///   - topic: the name of the topic, 1 to 256 bytes of UTF-8.
    ///   - timeout: the longest wait for the server's answer; nil waits without limit.
    /// - Returns: as ``send(_:to:timeout:)``.
    /// - Throws: as ``send(_:to:timeout:)``.
    @discardableResult
    public func send(_ text: String, to topic: String, timeout: Duration? = nil) async throws -> Int {
        try await hold.core.send(Array(text.utf8), to: topic, timeout: timeout)
    }

    /// The messages that other stores send to a topic, as an asynchronous sequence, from when the server has been told of
    /// it; also in later connections. It ends when the store is closed.
    ///
    /// A consumer that is slow gets the first 256 that wait and the last. If the server's rules do not give the user the
    /// right `messages`, none comes, and ``SessionStatus/problem`` says so.
    ///
    /// - Parameter topic: the name of the topic, 1 to 256 bytes of UTF-8; a store listens to at most 256 of them.
    public func messages(to topic: String) -> SessionEvents<SessionMessage> {
        SessionEvents(hold.core.messages(to: topic))
    }

    /// Calls `handler` with each message that other stores send to a topic, as ``messages(to:)`` says.
    ///
    /// - Parameters:
    ///   - topic: the name of the topic.
    ///   - queue: where the handler is called, with one message at a time; nil for a thread of the
    ///     store.
    ///   - handler: called until the token is stopped or released, or the store is closed.
    public func observeMessages(
        to topic: String, on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (SessionMessage) -> Void
    ) -> HandlerToken {
        hold.core.observe(hold.core.messages(to: topic), on: queue, handler)
    }
}
