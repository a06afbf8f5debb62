/// How much of the server's answer to a query has arrived.
public enum SubscriptionState: String, Sendable, Hashable {
    /// The store has asked and the server has not answered yet; or the store is not connected and the query was never
    /// complete.
    case pending
    /// The first rows are arriving.
    case bootstrapping
    /// Every result that the server named is here. The results stay current while the store is connected.
    case complete
    /// The server rejected the query, or syncing has ended for good; ``SubscriptionStatus/error`` says why.
    case error
}

/// The state of a subscription, and the progress of its bootstrap.
public struct SubscriptionStatus: Sendable, Hashable {
    /// How much of the answer has arrived.
    public var state: SubscriptionState
    /// The part of the first rows that is here, from 0 to 1; 1 once the subscription is complete.
    public var progress: Double
    /// Why the server answers no more: it rejected the query, or syncing has ended for good. Nil in all other states.
    public var error: SyncError?

    package init(state: SubscriptionState, progress: Double = 0, error: SyncError? = nil) {
        self.state = state
        self.progress = progress
        self.error = error
    }
}

extension SubscriptionStatus: CustomStringConvertible {
    /// The state, with the progress of a bootstrap or the reason of an error.
    public var description: String {
        switch state {
        case .pending, .complete: state.rawValue
        case .bootstrapping: "bootstrapping \(Int(progress * 100)) %"
        case .error: error.map { "error: \($0)" } ?? state.rawValue
        }
    }
}
