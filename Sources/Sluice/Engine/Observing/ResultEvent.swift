package import SluiceModel
internal import SluiceQuery
package import SluiceViews

/// A change of observed results, before the objects are decoded as a Swift type.
package struct ResultEvent: Sendable {
    /// The results at the commit.
    package let list: ResultList
    package let change: ResultChange
    /// The objects of the change's deletions, in the same order.
    package let removed: [ObjectRef]
    /// Why objects are not in the list, although they are results: the observer's type cannot represent them.
    package let unreadable: [ObjectRef: ModelError]
    /// Whether ``unreadable`` is another than in the event before.
    package let changesUnreadable: Bool
    package let status: SubscriptionStatus
    /// How many objects match the query, whatever its limit; nil if it does not ask for that, or nobody knows.
    package let total: ShownTotal?
    /// The groups that the query computes; nil unless it has AGGREGATE.
    package let groups: ShownGroups?
    /// Whether ``total`` or ``groups`` is another than in the event before.
    package let changesFigures: Bool
    package let remote: Remote?
    package let isInitial: Bool
    package let freshness: Freshness
}

extension ResultEvent {
    /// Makes the only event of an observation that could not begin.
    init(failure: SyncError) {
        self.init(
            list: ResultList(schema: Schema(), order: SortOrder([]), limit: nil), change: ResultChange(), removed: [],
            unreadable: [:], changesUnreadable: false,
            status: SubscriptionStatus(state: .error, error: failure), total: nil, groups: nil, changesFigures: false,
            remote: nil,
            isInitial: true,
            freshness: .cached(since: nil))
    }
}
