public import Observation
public import Sluice

/// What a query computes, for a user interface: its value is always current, and says to the Observation module when it
/// is not what it was.
///
/// ```swift
/// let stats = try LiveAggregate(late.aggregate { ($0.count, $0.average(\.delay)) })
/// if let (count, average) = stats.value { print(count, average ?? 0) }
/// ```
///
/// It observes from when it is made until ``stop(stopSyncing:)`` or its release. Everything is on the main actor.
@MainActor @Observable public final class LiveAggregate<Value: Sendable> {
    /// What is computed; nil before it is known here, which takes a moment.
    public private(set) var value: Value?
    /// Whether the server would say the same if it had all writes of this store; see `AggregateSnapshot.isExact`.
    public private(set) var isExact = false
    /// How much of the server's answer is here, and why there is none.
    public private(set) var status = SubscriptionStatus(state: .pending)
    /// Whether ``value`` is what the server says.
    public private(set) var freshness = Freshness.cached(since: nil)
    /// Why ``value`` is not the newest: a type that cannot hold what was computed; nil if it is.
    public private(set) var error: (any Error)?

    @ObservationIgnored private var token: NotificationToken?

    /// Begins to observe what is computed over all results.
    ///
    /// - Throws: `QueryError` when the query is wrong; `ModelError` when the store's classes do not fit the type;
    ///   `StoreError` when the store is closed, or within a write.
    public init<Element: ResultElement>(_ results: AggregateResults<Element, Value>) throws {
        token = try results.observe(
            isolation: MainActor.shared, { [weak self] change in self?.receive(change) },
            onError: { [weak self] error in self?.error = error })
    }

    /// Begins to observe groups.
    ///
    /// - Throws: as the other initializer.
    public convenience init<Element: ResultElement, Key: Sendable, Values: Sendable, Functions: Sendable>(
        _ groups: GroupedResults<Element, Key, Values, Functions>
    ) throws where Value == [AggregateGroup<Key, Values>] {
        try self.init(groups.aggregates)
    }

    /// Ends the observation; the value stays as it is. See `NotificationToken.stop(stopSyncing:purgeLocal:)`.
    ///
    /// - Parameter stopSyncing: whether to end the subscription.
    public func stop(stopSyncing: Bool = true) {
        token?.stop(stopSyncing: stopSyncing)
        token = nil
    }

    private func receive(_ change: AggregateChange<Value>) {
        value = change.value
        if isExact != change.isExact { isExact = change.isExact }
        if status != change.subscription { status = change.subscription }
        if freshness != change.freshness { freshness = change.freshness }
        if error != nil { error = nil }
    }
}

extension LiveAggregate: @MainActor CustomStringConvertible {
    /// The value, and the state of the subscription.
    public var description: String { "LiveAggregate(\(value.map { "\($0)" } ?? "no value"); \(status))" }
}
