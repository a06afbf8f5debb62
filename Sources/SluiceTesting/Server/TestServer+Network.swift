public import Sluice
internal import Synchronization

/// What happens between the server and its stores, and when. The stores of a cluster are those of each of its nodes.
extension TestServer {
    /// Waits until the server, its stores and the network have nothing left to do as long as the clock stands still: all
    /// that was sent has arrived, and every handler that has no queue of its own has returned. So a test can say that
    /// something did *not* come.
    ///
    /// What a test holds (``hold(_:before:)``) or what waits for the clock stays where it is. Tasks and queues of the
    /// test itself, and observers of a `ServerDatabase`, do not count.
    ///
    /// - Parameter timeout: the longest wait in which no message travels, in real time. A look that a busy machine holds
    ///   up counts as one second, so that the machine's other work does not use the wait up. Messages without end do: ten
    ///   times the timeout is the longest wait of all.
    /// - Throws: ``NotSettled`` when work goes on; the error says where, and what each store waits for.
    public func settled(timeout: Duration = .seconds(120)) async throws { try await world.settled(timeout: timeout) }

    /// Moves the clock, and lets everything happen that its timers set off, each at its own time: attempts to connect,
    /// and messages that a latency delays. Stores of this server alone are waited for.
    ///
    /// - Throws: ``NotSettled``.
    public func advance(by duration: Duration) async throws { try await world.advance(by: duration) }
}

/// How messages travel between the server and its stores.
extension TestServer {
    /// Changes how the network of a store is from now on. Messages that are under way keep their times.
    ///
    /// With a latency, nothing arrives until the clock moves: ``advance(by:)`` moves it step by step.
    ///
    /// - Parameters:
    ///   - conditions: latency, jitter, and how long connections last; a connection that is open stays.
    ///   - store: the store; nil for all, those that are opened later included.
    public func setConditions(_ conditions: NetworkConditions, of store: Store? = nil) {
        if let store { link(of: store)?.set(conditions) } else { world.set(conditions) }
    }

    // MARK: Counting

    /// What the server has sent to a store since the store was opened: kinds, counts and bytes. So a test can say that
    /// a subscription resumed and was not sent anew, or what a change costs on the wire.
    ///
    /// Messages that are held, and those that a cut has lost, count too. What ``reject(_:of:because:_:)`` and
    /// ``expireLogin(of:)`` make a store believe does not.
    public func messages(to store: Store) -> MessageTally { link(of: store)?.tally ?? MessageTally() }

    // MARK: Holding

    /// Keeps what the server sends to a store, until ``step(_:)`` or ``release(_:)``. What the store sends arrives.
    ///
    /// - Parameters:
    ///   - store: the store.
    ///   - kind: the messages before the first of this kind pass; nil keeps everything from now on. Held before
    ///     ``ServerMessageKind/page``, a subscription stays `pending`; before ``ServerMessageKind/complete``, it stays
    ///     `bootstrapping`.
    public func hold(_ store: Store, before kind: ServerMessageKind? = nil) {
        link(of: store)?.set(kind.map { .openUntil($0) } ?? .closed)
    }

    /// The kinds of the messages that are held for a store, in order. They are lost with the connection.
    public func held(_ store: Store) -> [ServerMessageKind] { link(of: store)?.held ?? [] }

    /// Lets a store have the first message that is held for it, and waits until it has had its effects.
    ///
    /// - Returns: what it was.
    /// - Throws: ``NotSettled`` when nothing is held.
    @discardableResult
    public func step(_ store: Store) async throws -> ServerMessageKind {
        try await settled()
        guard let link = link(of: store), let kind = link.held.first else {
            throw NotSettled("nothing is held for the store; hold(_:before:) keeps what the server sends")
        }
        link.step()
        try await settled()
        return kind
    }

    /// Ends ``hold(_:before:)``: the store gets everything that was held.
    public func release(_ store: Store) { link(of: store)?.set(.open) }
}
