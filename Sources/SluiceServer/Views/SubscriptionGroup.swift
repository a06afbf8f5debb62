/// Who is told of a view's changes.
struct ChangeReceiver {
    let session: SessionID
    let subscription: UInt64
    /// Whether the client keeps no store, see ``Features/light``.
    let isLight: Bool

    init(_ subscription: ViewSubscription) {
        session = subscription.session
        self.subscription = subscription.id
        isLight = subscription.subscriber.isLight
    }
}

/// The subscriptions of a view that has several.
///
/// A commit may have to be told to a hundred thousand. What it needs to know of each stands side by side, since
/// subscriptions and sessions lie wherever there was room.
final class SubscriptionGroup {
    private(set) var subscriptions: [ViewSubscription]
    /// Those of the subscriptions that are complete; nil if they are not known.
    private var knownReceivers: [ChangeReceiver]?

    init(_ subscriptions: [ViewSubscription]) { self.subscriptions = subscriptions }

    /// The subscriptions that are complete, in their order.
    var receivers: [ChangeReceiver] {
        if let knownReceivers { return knownReceivers }
        let receivers = Array(subscriptions.lazy.filter(\.isComplete).map(ChangeReceiver.init))
        knownReceivers = receivers
        return receivers
    }

    /// Makes ``receivers`` look at the subscriptions again.
    func forgetReceivers() { knownReceivers = nil }

    func change(_ body: (inout [ViewSubscription]) -> Void) {
        knownReceivers = nil
        body(&subscriptions)
    }
}
