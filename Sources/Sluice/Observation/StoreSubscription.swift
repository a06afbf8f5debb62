/// A query that a store keeps in sync, from ``Store/subscriptions()``.
public struct StoreSubscription: Sendable, Hashable {
    /// The query in its canonical form. `store.records(query)` makes results of it again, to stop or to observe them.
    public let query: String
    /// How complete the results are here, and why the server does not serve the query if it does not.
    public let status: SubscriptionStatus
    /// How many observers and waiters hold the subscription. One that nobody holds was kept by
    /// `stop(stopSyncing: false)`, and stays in sync until ``Store/stopSyncing(_:purgeLocal:)``.
    public let holderCount: Int
}

extension StoreSubscription: CustomStringConvertible {
    /// One line: the query, its status and the number of its holders.
    public var description: String {
        "\(BoundedText.cut(query)): \(status), \(BoundedText.count(holderCount, "holder"))"
    }
}
