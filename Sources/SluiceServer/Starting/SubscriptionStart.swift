internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// A subscription that was requested and has not started yet.
struct SubscriptionStart {
    let request: ClientMessage.Subscribe
    var query: Query
    let subscriber: Subscriber
    /// When its client has asked for it; nil if the server begins it again.
    var requestedAt: Timestamp?
    /// Whether the server has interrupted it, and the resume is what its client would present if it came back now.
    var isInterrupted = false

    var session: SessionID { subscriber.session }

    /// Lets the query read what its reader may read now.
    ///
    /// - Returns: whether that is something else than before.
    /// - Throws: ``RequestRejection`` if the reader may not ask that now.
    @discardableResult
    mutating func bindToReader() throws(RequestRejection) -> Bool {
        let bound: Query
        do { bound = try subscriber.access.query(query) } catch { throw RequestRejection(error) }
        guard bound.context !== query.context, bound.context.id != query.context.id else { return false }
        query = bound
        return true
    }
}

/// Work that needs more than a turn, and is done beside the writer.
enum CostlyWork {
    /// Making the view of a subscription that is about to start.
    case view(SubscriptionStart)
    /// Listing the roots of a subscription that is bootstrapping.
    case roots(ViewSubscription)

    var subscriber: Subscriber {
        switch self {
        case .view(let start): start.subscriber
        case .roots(let subscription): subscription.subscriber
        }
    }

    var session: SessionID { subscriber.session }

    /// Whether its subscription has not started yet.
    var isStart: Bool { if case .view = self { true } else { false } }

    var subscription: UInt64 {
        switch self {
        case .view(let start): start.request.subscription
        case .roots(let subscription): subscription.id
        }
    }
}
