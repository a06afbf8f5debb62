public import Dispatch
internal import SluiceQuery

/// What a query computes over everything that it finds, to fetch or to observe. Making one reads nothing and does not
/// contact the server. `aggregate(_:)` and `grouped(by:computing:)` make it.
///
/// The server computes it over everything that its user may read, once for all who ask the same, and then adds what comes
/// and takes away what goes: each commit brings what it changes. No objects are sent. Writes of this store that the server
/// has not confirmed are part of it at once, also without a connection.
public struct AggregateResults<Element: ResultElement, Output: Sendable>: Sendable {
    private let results: Results<Element>
    private let description: AggregateDescription<Element, Output>

    /// - Parameter results: what is computed over, of which the description is made.
    init(_ results: Results<Element>, _ description: AggregateDescription<Element, Output>) {
        self.results = results.refined { _ in description.query }.forFigures()
        self.description = description
    }

    /// Makes what makes Swift values of what is shown, for one reader.
    private func decoder() -> @Sendable (ShownGroups) throws -> Output {
        let decode = description.decoder()
        return { [results] shown in
            let query = try results.query()
            guard let aggregates = query.aggregates else { throw AggregateDescription<Element, Output>.notComputing }
            let binding = try results.binding(ofClass: query.classIndex, in: results.schema)
            return try decode(aggregates, shown.groups, binding)
        }
    }

    /// The query in its canonical form.
    ///
    /// - Throws: `QueryError`.
    public var canonicalText: String { get throws { try results.canonicalText } }

    /// What is computed of what is known here now: what the server has said last with the writes since, and, where it has
    /// said nothing, what the objects that are here give. It does not wait for the server.
    ///
    /// O(groups), or O(matches) where the server has said nothing.
    ///
    /// - Throws: `QueryError`; ``StoreError``; ``ModelError`` when a type cannot hold a key or a result.
    public func fetch() throws -> Output { try snapshot().value }

    /// The same as ``fetch()``, and whether it is exact.
    public func snapshot() throws -> AggregateSnapshot<Output> {
        guard let groups = try results.read({ try $0.groups() }) else {
            throw AggregateDescription<Element, Output>.notComputing
        }
        return AggregateSnapshot(try decoder()(groups), isExact: groups.isExact)
    }

    /// Waits until the server has said what it computes, and returns that with the writes of this store.
    ///
    /// - Parameter timeout: the longest wait without progress; nil waits without limit.
    /// - Throws: as ``Results/synced(timeout:progress:)``, and as ``fetch()``.
    @discardableResult
    public func synced(timeout: Duration? = nil) async throws -> Output {
        try await results.synced(timeout: timeout) { try fetch() }
    }

    /// Observes what is computed, and keeps the query in sync as long as the token exists. Events are as of
    /// ``Results/observe(on:_:onError:)``: the first has what is known here, and each commit that changes something
    /// is one.
    public func observe(
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (AggregateChange<Output>) throws -> Void,
        onError: (@Sendable (any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        let decode = try checked()
        return try results.observe(on: queue, { try handler(AggregateChange($0, decode)) }, onError: onError)
    }

    /// Observes what is computed with handlers on the main actor, as results are observed.
    public func observe(
        isolation actor: MainActor, _ handler: @escaping @MainActor (AggregateChange<Output>) throws -> Void,
        onError: (@MainActor (any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        let decode = try checked()
        return try results.observe(isolation: actor, { try handler(AggregateChange($0, decode)) }, onError: onError)
    }

    /// Observes what is computed with handlers on an actor, which are called with it.
    public func observe<Isolation: Actor>(
        isolation actor: Isolation,
        _ handler: @escaping @Sendable (isolated Isolation, AggregateChange<Output>) throws -> Void,
        onError: (@Sendable (isolated Isolation, any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        let decode = try checked()
        return try results.observe(
            isolation: actor, { try handler($0, AggregateChange($1, decode)) }, onError: onError)
    }

    /// - Throws: `QueryError` when the query computes nothing.
    private func checked() throws -> @Sendable (ShownGroups) throws -> Output {
        guard try results.query().aggregates != nil else { throw AggregateDescription<Element, Output>.notComputing }
        return decoder()
    }

    /// The changes as a sequence, with the same events as ``observe(on:_:onError:)``. Ending the iteration ends the
    /// observation.
    public var changes: AggregateChanges<Element, Output> { AggregateChanges(results.changes, decoder) }

    /// The changes as ``changes``, for those who wait for an event and not for ever; see ``Results/changes(timeout:)``.
    public func changes(timeout: Duration) -> AggregateChanges<Element, Output> {
        AggregateChanges(results.changes(timeout: timeout), decoder)
    }

    /// The same, asking the server nothing; see ``Results/cached()``.
    public func cached() -> AggregateResults { AggregateResults(results.cached(), description) }
}

/// What a query has computed at one moment.
public struct AggregateSnapshot<Output: Sendable>: Sendable {
    /// What was computed.
    public let value: Output
    /// Whether the server would say the same if it had all writes of this store.
    ///
    /// Counts, sums and averages stay exact whatever this store writes to its objects. A written object that the store did
    /// not have counts as new, though the server may have it. It is false before the server has said anything; while nobody
    /// observes the query; where a write here takes the least or greatest value away, since what follows it is not here; where
    /// groups are limited and writes of this store wait; and where a condition cannot be evaluated here. A write that
    /// the server has confirmed makes it exact again.
    public let isExact: Bool

    package init(_ value: Output, isExact: Bool) {
        self.value = value
        self.isExact = isExact
    }
}

extension AggregateSnapshot: Equatable where Output: Equatable {}

/// One change of what a query computes.
public struct AggregateChange<Output: Sendable>: Sendable {
    /// What is computed now.
    public let value: Output
    /// Whether the server would say the same if it had all writes of this store; see ``AggregateSnapshot/isExact``.
    public let isExact: Bool
    /// Whether this is the first event, which has what was known here when the observation began.
    public let isInitial: Bool
    /// How much of the server's answer has arrived.
    public let subscription: SubscriptionStatus
    /// What the event comes from: the beginning of the observation, a new state, this process or the server.
    public let origin: EventOrigin
    /// Whether the value is what the server says.
    public let freshness: Freshness

    init<Element: ResultElement>(
        _ change: Change<Element>, _ decode: (ShownGroups) throws -> Output
    ) throws {
        // An observation that could not begin has an error instead.
        let groups = change.groups ?? ShownGroups(groups: [], isExact: false)
        value = try decode(groups)
        isExact = groups.isExact
        isInitial = change.isInitial
        subscription = change.subscription
        origin = change.origin
        freshness = change.freshness
    }

    /// The state of the subscription, without progress and error.
    public var state: SubscriptionState { subscription.state }
}

/// The changes of what a query computes as an asynchronous sequence, as ``Changes``.
public struct AggregateChanges<Element: ResultElement, Output: Sendable>: AsyncSequence, Sendable {
    private let changes: Changes<Element>
    private let decoder: @Sendable () -> @Sendable (ShownGroups) throws -> Output

    init(_ changes: Changes<Element>, _ decoder: @escaping @Sendable () -> @Sendable (ShownGroups) throws -> Output) {
        self.changes = changes
        self.decoder = decoder
    }

    /// Begins an observation, which keeps the query in sync as long as the iterator exists.
    public func makeAsyncIterator() -> Iterator { Iterator(changes.makeAsyncIterator(), decoder()) }

    /// One observation.
    public struct Iterator: AsyncIteratorProtocol {
        private var changes: Changes<Element>.Iterator
        private let decode: @Sendable (ShownGroups) throws -> Output

        init(_ changes: Changes<Element>.Iterator, _ decode: @escaping @Sendable (ShownGroups) throws -> Output) {
            self.changes = changes
            self.decode = decode
        }

        /// Waits for the next change; nil when the store was closed.
        ///
        /// - Throws: as ``Changes/Iterator/next()``, and ``ModelError`` when a type cannot hold a key or a result.
        public mutating func next() async throws -> AggregateChange<Output>? {
            try await changes.next().map { try AggregateChange($0, decode) }
        }
    }
}
