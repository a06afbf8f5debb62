/// The decisions that a server leaves to its owner. They are called on event loops and must not block.
package struct ServerHooks: Sendable {
    /// Decides about a connection.
    package var accept: @Sendable (HTTPRequest, any MessageConnection) -> UpgradeDecision
    /// Answers a plain `GET` or `HEAD`; nil means 404.
    package var page: @Sendable (HTTPRequest) -> HTTPResponse?
    /// Called when a connection fails before it is open, with the peer's address; for logs.
    package var didRefuse: @Sendable (_ peer: String, TransportError) -> Void

    package init(
        accept: @escaping @Sendable (HTTPRequest, any MessageConnection) -> UpgradeDecision,
        page: @escaping @Sendable (HTTPRequest) -> HTTPResponse? = { _ in nil },
        didRefuse: @escaping @Sendable (_ peer: String, TransportError) -> Void = { _, _ in }
    ) {
        self.accept = accept
        self.page = page
        self.didRefuse = didRefuse
    }
}
