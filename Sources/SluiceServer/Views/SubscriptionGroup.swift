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
    private var known: Audience?

    /// Those of the subscriptions that are complete, in their order.
    private struct Audience {
        let all: [ChangeReceiver]
        let haveLight: Bool
    }

    init(_ subscriptions: [ViewSubscription]) { self.subscriptions = subscriptions }

    private var complete: Audience {
        if let known { return known }
        let all = Array(subscriptions.lazy.filter(\.isComplete).map(ChangeReceiver.init))
        let made = Audience(all: all, haveLight: all.contains(where: \.isLight))
        known = made
        return made
    }

    /// The subscriptions that are complete, in their order.
    var receivers: [ChangeReceiver] { complete.all }

    /// Whether one of the ``receivers`` keeps no store.
    var hasLightReceivers: Bool { complete.haveLight }

    /// Makes ``receivers`` look at the subscriptions again.
    func forgetReceivers() { known = nil }

    func change(_ body: (inout [ViewSubscription]) -> Void) {
        known = nil
        body(&subscriptions)
    }
}
