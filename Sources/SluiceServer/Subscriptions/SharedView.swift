internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// A live view with its subscriptions. It is computed once, and its changes are encoded once.
final class SharedView {
    private(set) var live: LiveView
    private(set) var subscriptions: [ViewSubscription] = []

    /// The digest of the view's content. An inner nil means that the view has none; an outer nil that it was not made
    /// since the last change.
    var digest: ObjectID??

    /// How many times the view's content has changed.
    private(set) var changeCount = 0
    /// Whether the view has too many members for the digests of running sessions.
    var isTooLargeToCheck = false

    init(_ live: LiveView) { self.live = live }

    /// Records that the view's content has changed.
    func noteChange() {
        digest = nil
        changeCount += 1
    }

    var query: Query { live.query }

    /// Replaces the live view by one for the same query and a schema that has grown.
    func replace(by live: LiveView) {
        self.live = live
        noteChange()
    }

    func add(_ subscription: ViewSubscription) { subscriptions.append(subscription) }

    func remove(_ subscription: ViewSubscription) { subscriptions.removeAll { $0 === subscription } }
}
