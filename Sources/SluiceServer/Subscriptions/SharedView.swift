internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// A live view and everyone who subscribed to it: computed once, its changes encoded once.
final class SharedView {
    private(set) var live: LiveView
    private(set) var subscriptions: [ViewSubscription] = []

    /// The digest of what the view holds, nil within where it has none; nil while nobody asked since the last change.
    var digest: ObjectID??

    /// How often what the view holds has changed.
    private(set) var changeCount = 0
    /// Whether it holds more than digests are made of for running sessions.
    var isTooLargeToCheck = false

    init(_ live: LiveView) { self.live = live }

    /// Notes that what the view holds has changed.
    func noteChange() {
        digest = nil
        changeCount += 1
    }

    var query: Query { live.query }

    /// Puts a view of the same query, made for a grown schema, in the place of the old one.
    func replace(by live: LiveView) {
        self.live = live
        noteChange()
    }

    func add(_ subscription: ViewSubscription) { subscriptions.append(subscription) }

    func remove(_ subscription: ViewSubscription) { subscriptions.removeAll { $0 === subscription } }
}
