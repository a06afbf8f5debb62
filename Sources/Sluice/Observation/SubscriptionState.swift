/// How far the server's answer to a query has come.
public enum SubscriptionState: String, Sendable, Hashable {
    /// Asked for, not answered yet; or not connected and never completed.
    case pending
    /// The first rows are coming.
    case bootstrapping
    /// Everything the server names is here, and stays current while connected.
    case complete
    /// The server refused the query; ``SubscriptionStatus/error`` says why.
    case error
}

/// The state of a subscription and, while it is being answered, how far it is.
public struct SubscriptionStatus: Sendable, Hashable {
    /// Where the answer stands.
    public var state: SubscriptionState
    /// The share of the first rows that is here, from 0 to 1; 1 once complete.
    public var progress: Double
    /// Why the server refused the query.
    public var error: SyncError?

    package init(state: SubscriptionState, progress: Double = 0, error: SyncError? = nil) {
        self.state = state
        self.progress = progress
        self.error = error
    }
}
