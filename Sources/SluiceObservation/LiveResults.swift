public import Observation
public import Sluice
internal import SluiceModel

/// The results of a query for a user interface: a list that is always current, and that says to the Observation module
/// when it is not what it was.
///
/// ```swift
/// let cheap = try LiveResults(store.objects(Car.self).where { $0.price < 10_000 })
/// withObservationTracking { print(cheap.elements.count) } onChange: { print("there is more") }
/// ```
///
/// It observes from when it is made until ``stop(stopSyncing:purgeLocal:)`` or its release, as a `NotificationToken`
/// does. Everything is on the main actor.
@MainActor @Observable public final class LiveResults<Element: ResultElement> {
    /// The objects, in the order of the query. An object that its type cannot represent is left out, see
    /// ``unreadable``.
    public private(set) var elements: [Element] = []
    /// How much of the server's answer is here, and why there is none.
    public private(set) var status: SubscriptionStatus
    /// Whether ``elements`` are what the server says.
    public private(set) var freshness = Freshness.cached(since: nil)
    /// How many objects match the query, whatever its limit; nil unless it asks for its total (`withTotal()`), and until
    /// the server has said it. It is always that of the same commit as ``elements``.
    public private(set) var total: Int?
    /// Whether the server would say the same total if it had all writes of this store; see `ResultsSnapshot.isTotalExact`.
    public private(set) var isTotalExact = false
    /// Why objects are missing in ``elements``, or will be missing in what ``loadMore(_:)`` shows next.
    public private(set) var unreadable: [ModelError] = []

    /// How many objects were decoded. Tests use it to see how this work grows.
    @ObservationIgnored package private(set) var decodedCount = 0
    @ObservationIgnored private var known: [ObjectID: Element] = [:]
    @ObservationIgnored private var token: NotificationToken?
    /// What was observed before ``loadMore(_:)``, until the server has answered what is observed now.
    @ObservationIgnored private var former: NotificationToken?
    @ObservationIgnored private var results: Results<Element>
    /// What the store holds of them, of which the first are shown.
    @ObservationIgnored private var held: ResultsSnapshot<Element>?
    /// How many of them are shown at most; nil for all.
    @ObservationIgnored private var shownMax: Int?
    /// The ids of ``elements``.
    @ObservationIgnored private var shownIDs: [ObjectID] = []
    /// Counts what is observed, so that nothing comes from what was observed before.
    @ObservationIgnored private var round = 0

    /// Begins to observe.
    ///
    /// - Throws: `QueryError` when the query is wrong; `ModelError` when the store's classes do not fit the type;
    ///   `StoreError` when the store is closed, or within a write.
    public init(_ results: Results<Element>) throws {
        status = SubscriptionStatus(state: .pending)
        self.results = results
        token = try observe(results)
    }

    private func observe(_ results: Results<Element>) throws -> NotificationToken {
        let next = round + 1
        let token = try results.observe(isolation: MainActor.shared) { [weak self] change in
            if self?.round == next { self?.receive(change) }
        }
        round = next
        return token
    }

    /// Shows more of the first results, as soon as they are here. What is shown stays until then, and the server sends
    /// nothing again that it has sent. Without a limit nothing happens, since everything is shown.
    ///
    /// The store reads ahead: when it has to ask, it asks for half as many again as it holds, or for as many as are to be
    /// shown, if these are more. So a list that is scrolled asks seldom, and most of the time shows more at once.
    ///
    /// - Parameter count: how many more are shown at most.
    /// - Throws: as ``init(_:)``.
    public func loadMore(_ count: Int) throws {
        guard let token, let limit = try results.growingLimit else { return }
        let (sum, overflows) = (shownMax ?? limit).addingReportingOverflow(max(0, count))
        let wanted = overflows ? .max : sum
        if wanted > limit, let grown = try results.growing(by: max(wanted - limit, limit / 2)) {
            let next = try observe(grown)
            results = grown
            // It is the basis from which the server goes on.
            former?.stop()
            former = token
            self.token = next
        }
        shownMax = wanted
        show([])
    }

    /// The number of objects.
    public var count: Int { elements.count }

    /// Whether there are no objects.
    public var isEmpty: Bool { elements.isEmpty }

    /// The object at a position, from 0.
    ///
    /// - Precondition: the position is below ``count``.
    public subscript(index: Int) -> Element { elements[index] }

    /// Ends the observation; the elements stay as they are. See `NotificationToken.stop(stopSyncing:purgeLocal:)`.
    ///
    /// - Parameters:
    ///   - stopSyncing: whether to end the subscription.
    ///   - purgeLocal: whether to remove the query's objects from the store.
    public func stop(stopSyncing: Bool = true, purgeLocal: Bool = true) {
        endFormer()
        token?.stop(stopSyncing: stopSyncing, purgeLocal: purgeLocal)
        token = nil
    }

    private func endFormer() {
        former?.stop(stopSyncing: true, purgeLocal: true)
        former = nil
    }

    /// Takes in an event. Only objects that are new or have changed are decoded.
    private func receive(_ change: Change<Element>) {
        if change.state == .complete || change.state == .error { endFormer() }
        if status != change.subscription { status = change.subscription }
        if freshness != change.freshness { freshness = change.freshness }
        if total != change.total { total = change.total }
        if isTotalExact != change.isTotalExact { isTotalExact = change.isTotalExact }
        let errors = change.results.unreadable
        if unreadable != errors { unreadable = errors }
        held = change.results
        guard change.isInitial || change.changesResults else { return }
        show(Set(change.insertions).union(change.modifications))
    }

    /// Shows the first of what is held.
    ///
    /// - Parameter changed: the positions of objects that are others than before.
    private func show(_ changed: Set<Int>) {
        guard let held else { return }
        let indices = held.indices.prefix(shownMax ?? .max)
        let ids = indices.map { held.objectID(at: $0) }
        // What is held beyond what is shown changes, too.
        if ids == shownIDs, changed.isDisjoint(with: indices) { return }
        var next: [Element] = []
        var elementsByID: [ObjectID: Element] = [:]
        next.reserveCapacity(ids.count)
        for (index, id) in zip(indices, ids) {
            let isKnown = changed.contains(index) ? nil : known[id]
            if isKnown == nil { decodedCount += 1 }
            let element = isKnown ?? held[index]
            next.append(element)
            elementsByID[id] = element
        }
        known = elementsByID
        shownIDs = ids
        elements = next
    }
}

extension LiveResults: @MainActor CustomStringConvertible {
    /// The number of objects, and the state of the subscription.
    public var description: String { "LiveResults(\(count) \(count == 1 ? "object" : "objects"); \(status))" }
}

extension Change {
    /// Whether the results are other ones than before the event.
    var changesResults: Bool { !(deletions.isEmpty && insertions.isEmpty && modifications.isEmpty && moves.isEmpty) }
}
