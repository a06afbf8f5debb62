/// Observing with handlers that run on an actor.
extension Results {
    /// Observes the results with a handler on the main actor, so that it may use what belongs to a user interface. Else
    /// as ``observe(on:_:)``.
    ///
    /// ```swift
    /// let token = try cheap.observe(isolation: MainActor.shared) { change in label.text = "\(change.results.count)" }
    /// ```
    ///
    /// - Parameters:
    ///   - actor: `MainActor.shared`.
    ///   - handler: called with one event at a time, in order. A busy actor gets later commits of one origin as one event.
    /// - Throws: as ``observe(on:_:)``.
    public func observe(
        isolation actor: MainActor, _ handler: @escaping @MainActor (Change<Element>) -> Void
    ) throws -> NotificationToken {
        try observe { change, gate in
            await MainActor.run { gate.deliver { handler(change) } }
        }
    }

    /// Observes the results with a handler on an actor, so that it may use what belongs to the actor. Else as
    /// ``observe(on:_:)``.
    ///
    /// ```swift
    /// let token = try cheap.observe(isolation: self) { cache, change in cache.count = change.results.count }
    /// ```
    ///
    /// - Parameters:
    ///   - actor: the actor; the observation keeps it alive until the token is stopped or released.
    ///   - handler: called on the actor, with it and one event at a time, in order. A busy actor gets later commits of one
    ///     origin as one event.
    /// - Throws: as ``observe(on:_:)``.
    public func observe<Isolation: Actor>(
        isolation actor: Isolation, _ handler: @escaping @Sendable (isolated Isolation, Change<Element>) -> Void
    ) throws -> NotificationToken {
        try observe { change, gate in
            await Self.deliver(change, to: actor, through: gate, handler)
        }
    }

    private static func deliver<Isolation: Actor>(
        _ change: Change<Element>, to actor: isolated Isolation, through gate: DeliveryGate,
        _ handler: @Sendable (isolated Isolation, Change<Element>) -> Void
    ) async {
        gate.deliver { handler(actor, change) }
    }

    /// Begins an observation whose events are handled one after the other.
    private func observe(
        _ handle: @escaping @Sendable (Change<Element>, DeliveryGate) async -> Void
    ) throws -> NotificationToken {
        // Says what is wrong with the query.
        _ = try query()
        let core = core
        return try begin { event, ready, gate in
            // The next event comes once this one is handled, so the tasks of an observation never overlap.
            Task {
                await handle(Change(event, core: core), gate)
                ready()
            }
        }
    }
}
