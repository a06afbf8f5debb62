/// Observing with handlers that run on an actor.
extension Results {
    /// Observes the results with handlers on the main actor, so that they may use what belongs to a user interface. Else
    /// as ``observe(on:_:onError:)``.
    ///
    /// ```swift
    /// let token = try cheap.observe(isolation: MainActor.shared) { change in label.text = "\(change.results.count)" }
    /// ```
    ///
    /// - Parameters:
    ///   - actor: `MainActor.shared`.
    ///   - handler: called with one event at a time, in order. A busy actor gets later commits of one origin as one event.
    ///   - onError: as in ``observe(on:_:onError:)``, on the main actor.
    /// - Throws: as ``observe(on:_:onError:)``.
    public func observe(
        isolation actor: MainActor, _ handler: @escaping @MainActor (Change<Element>) throws -> Void,
        onError: (@MainActor (any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        try observe { event, calls in
            await MainActor.run { calls.notify(event, { try handler($0) }, onError.map { onError in { onError($0) } }) }
        }
    }

    /// Observes the results with handlers on an actor, so that they may use what belongs to the actor. Else as
    /// ``observe(on:_:onError:)``.
    ///
    /// ```swift
    /// let token = try cheap.observe(isolation: self) { cache, change in cache.count = change.results.count }
    /// ```
    ///
    /// - Parameters:
    ///   - actor: the actor; the observation keeps it alive until the token is stopped or released.
    ///   - handler: called on the actor, with it and one event at a time, in order. A busy actor gets later commits of one
    ///     origin as one event.
    ///   - onError: as in ``observe(on:_:onError:)``, on the actor and with it.
    /// - Throws: as ``observe(on:_:onError:)``.
    public func observe<Isolation: Actor>(
        isolation actor: Isolation,
        _ handler: @escaping @Sendable (isolated Isolation, Change<Element>) throws -> Void,
        onError: (@Sendable (isolated Isolation, any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        try observe { event, calls in
            await Self.notify(event, to: actor, by: calls, handler, onError)
        }
    }

    private static func notify<Isolation: Actor>(
        _ event: ResultEvent, to actor: isolated Isolation, by calls: ObservationCalls<Element>,
        _ handler: @Sendable (isolated Isolation, Change<Element>) throws -> Void,
        _ onError: (@Sendable (isolated Isolation, any Error) -> Void)?
    ) async {
        calls.notify(event, { try handler(actor, $0) }, onError.map { onError in { onError(actor, $0) } })
    }

    /// Begins an observation whose events are handled one after the other.
    private func observe(
        _ handle: @escaping @Sendable (ResultEvent, ObservationCalls<Element>) async -> Void
    ) throws -> NotificationToken {
        // Says what is wrong with the query.
        _ = try query()
        return try begin { event, ready, calls in
            // The next event comes once this one is handled, so the tasks of an observation never overlap.
            Task {
                await handle(event, calls)
                ready()
            }
        }
    }
}
