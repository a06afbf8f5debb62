public import SluiceModel
internal import SluiceViews

/// One change of observed results: the results now, how they differ from before, and who made the difference.
///
/// ``deletions`` and ``Move/from`` are positions in the results before the change; all other indices are positions in
/// ``results``. An object that cannot be read as `Element` has no position: it comes and leaves with whether it can be
/// read, and an event also comes where nothing but ``ResultsSnapshot/unreadable`` has changed.
public struct Change<Element: ResultElement>: Sendable {
    /// An object that left the results, and why.
    public struct Removal: Sendable, Hashable {
        /// The class and key of the object.
        public let identity: Identity
        /// The position of the object in the results before the change.
        public let index: Int
        /// Why the object left.
        public let reason: RemovalReason
    }

    /// An object whose place in the order changed.
    public struct Move: Sendable, Hashable {
        /// The position in the results before the change.
        public let from: Int
        /// The position in the results now.
        public let to: Int
    }

    /// The results at the commit that this change ends with.
    public let results: ResultsSnapshot<Element>
    /// Whether this is the first event, which has everything that was here when the observation began.
    public let isInitial: Bool
    /// Positions in the results before the change, ascending.
    public let deletions: [Int]
    /// Positions in the results now, ascending.
    public let insertions: [Int]
    /// Positions in the results now, ascending, of objects whose content changed or whose links lead to an object that
    /// changed.
    public let modifications: [Int]
    /// Objects whose place relative to the others changed: a smallest set that explains the new order.
    public let moves: [Move]
    /// The objects behind ``deletions``, in the same order.
    public let removals: [Removal]
    /// How much of the server's answer has arrived.
    public let subscription: SubscriptionStatus
    /// What the event comes from: the beginning of the observation, a new state, this process or the server.
    public let origin: EventOrigin
    /// Whether the results are what the server says.
    ///
    /// The loss of a connection changes no results and is no event; ``StoreSession`` tells it.
    public let freshness: Freshness

    /// What the query computes; nil unless it has AGGREGATE.
    package let groups: ShownGroups?

    init(_ event: ResultEvent, core: StoreCore) {
        groups = event.groups
        let schema = event.list.schema
        results = ResultsSnapshot(
            list: event.list, unreadable: event.unreadable, total: event.total, core: core)
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
        freshness = event.freshness
        origin =
            if event.isInitial {
                .initial
            } else if let remote = event.remote {
                .remote(remote)
            } else {
                event.change.isEmpty && !event.changesUnreadable && !event.changesFigures ? .status : .local
            }
    }

    /// How many objects match the query, whatever its limit; see ``ResultsSnapshot/total``. It is always that of the same
    /// commit as ``results``, and an event also comes where nothing but the total has changed.
    public var total: Int? { results.total }

    /// Whether the server would say the same total if it had all writes of this store; see
    /// ``ResultsSnapshot/isTotalExact``. An event also comes where nothing but this has changed.
    public var isTotalExact: Bool { results.isTotalExact }

    /// Who made the change, if it came from the server; nil for a local change, for the first event, and for an event
    /// that only reports a new state of the subscription, which ``origin`` tells apart.
    public var remote: Remote? { if case .remote(let remote) = origin { remote } else { nil } }

    /// The state of the subscription, without progress and error.
    public var state: SubscriptionState { subscription.state }
}
