public import Observation
public import Sluice

/// One object for a user interface: its value is always current, and says to the Observation module when it is not what
/// it was.
///
/// ```swift
/// let car = try LiveObject(store.results(Car.self, key: "JT2"))
/// print(car.value?.price ?? 0)
/// ```
///
/// It observes from when it is made until ``stop(stopSyncing:purgeLocal:)`` or its release. Everything is on the main
/// actor.
@MainActor @Observable public final class LiveObject<Element: ResultElement> {
    private let results: LiveResults<Element>

    /// Begins to observe.
    ///
    /// - Parameter results: results of at most one object, such as `store.results(of: car)` or
    ///   `store.results(Car.self, key: "JT2")`; of others, the first object counts.
    /// - Throws: `QueryError` when the query is wrong; `ModelError` when the store's classes do not fit the type;
    ///   `StoreError` when the store is closed, or within a write.
    public init(_ results: Results<Element>) throws { self.results = try LiveResults(results) }

    /// The object as it is; nil if it is not here, or was deleted.
    public var value: Element? { results.elements.first }

    /// How much of the server's answer is here: with `SubscriptionState.complete` and no ``value``, the object does
    /// not exist for this user.
    public var status: SubscriptionStatus { results.status }

    /// Whether ``value`` is what the server says.
    public var freshness: Freshness { results.freshness }

    /// Why ``value`` is nil although the object is here.
    public var unreadable: ModelError? { results.unreadable.first }

    /// Ends the observation; the value stays as it is. See `NotificationToken.stop(stopSyncing:purgeLocal:)`.
    ///
    /// - Parameters:
    ///   - stopSyncing: whether to end the subscription.
    ///   - purgeLocal: whether to remove the object from the store.
    public func stop(stopSyncing: Bool = true, purgeLocal: Bool = true) {
        results.stop(stopSyncing: stopSyncing, purgeLocal: purgeLocal)
    }
}
