public import SluiceModel
internal import SluiceViews

/// One change of observed results: what they are now, how they differ from before, and who made the difference.
///
/// Indices of deletions, and of where moves start, are positions in the results before; all others in ``results``.
public struct Change<Element: ResultElement>: Sendable {
    /// An object that is no longer among the results, and why.
    public struct Removal: Sendable, Hashable {
        /// Its class and key.
        public let identity: Identity
        /// The object's position in the results before.
        public let index: Int
        /// Why it left.
        public let reason: RemovalReason
    }

    /// An object that is elsewhere in the order than before.
    public struct Move: Sendable, Hashable {
        /// Its position in the results before.
        public let from: Int
        /// Its position in the results now.
        public let to: Int
    }

    /// The results at the commit that this change ends with.
    public let results: ResultsSnapshot<Element>
    /// Whether this is the first event: everything that was here when observing began.
    public let isInitial: Bool
    /// Positions in the results before, ascending.
    public let deletions: [Int]
    /// Positions in the results now, ascending.
    public let insertions: [Int]
    /// Positions in the results now, ascending: objects whose content, or something they link to, changed.
    public let modifications: [Int]
    /// Objects whose place among the others changed: the fewest that explain the order.
    public let moves: [Move]
    /// The objects behind ``deletions``, in the same order.
    public let removals: [Removal]
    /// How far the server's answer has come.
    public let subscription: SubscriptionStatus
    /// Who made the change, if it came from the server; nil for a change made here, for the first event, and for events
    /// that only tell a new state.
    public let remote: Remote?

    init(_ event: ResultEvent, core: StoreCore) {
        let schema = core.schema
        results = ResultsSnapshot(list: event.list, core: core)
        isInitial = event.isInitial
        deletions = event.change.deletions.map(\.index)
        insertions = event.change.insertions
        modifications = event.change.modifications
        moves = event.change.moves.map { Move(from: $0.from, to: $0.to) }
        removals = zip(event.change.deletions, event.removed).map { deletion, object in
            Removal(
                identity: Identity(className: schema[object.classIndex].name, key: object.key), index: deletion.index,
                reason: deletion.reason)
        }
        subscription = event.status
        remote = event.remote
    }

    /// How far the server's answer has come, in a word.
    public var state: SubscriptionState { subscription.state }
}
