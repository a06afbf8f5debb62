/// The decisions that a server leaves to its owner. They are called on event loops and must not block.
package struct ServerHooks: Sendable {
    /// Decides about a connection.
    package var accept: @Sendable (HTTPRequest, any MessageConnection) -> UpgradeDecision
    /// Says what to do with a request that is none for an upgrade.
    package var route: @Sendable (HTTPRequest) -> HTTPRoute
    /// Called when a connection fails before it is open, with the peer's address; for logs.
    package var didRefuse: @Sendable (_ peer: String, TransportError) -> Void

    package init(
        accept: @escaping @Sendable (HTTPRequest, any MessageConnection) -> UpgradeDecision,
        route: @escaping @Sendable (HTTPRequest) -> HTTPRoute = { _ in .notFound },
        didRefuse: @escaping @Sendable (_ peer: String, TransportError) -> Void = { _, _ in }
    ) {
        self.accept = accept
        self.route = route
        self.didRefuse = didRefuse
    }
}
