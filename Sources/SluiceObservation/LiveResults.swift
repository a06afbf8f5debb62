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
    /// Why objects are missing in ``elements``.
    public private(set) var unreadable: [ModelError] = []

    /// How many objects were decoded. Tests use it to see how this work grows.
    @ObservationIgnored package private(set) var decodedCount = 0
    @ObservationIgnored private var known: [ObjectID: Element] = [:]
    @ObservationIgnored private var token: NotificationToken?
    /// What was observed before ``loadMore(_:)``, until the server has answered what is observed now.
    @ObservationIgnored private var former: NotificationToken?
    @ObservationIgnored private var results: Results<Element>
    /// Counts what is observed, so that nothing comes from what was observed before.
    @ObservationIgnored private var round = 0

    /// Begins to observe.
    ///
    /// - Throws: `QueryError` when the query is wrong; `ModelError` when the store's classes do not fit the type;
    ///   `StoreError` when the store is closed, or within a write.
    public init(_ results: Results<Element>) throws {
        status = SubscriptionStatus(state: .pending)
        self.results = results
        token = try observe()
    }

    private func observe() throws -> NotificationToken {
        round += 1
        return try results.observe(isolation: MainActor.shared) { [weak self, round] change in
            if self?.round == round { self?.receive(change) }
        }
    }

    /// Shows more of the first results: the limit of the query grows. What is shown stays until there is more, and the
    /// server sends no more than that. Without a limit nothing happens, since everything is shown.
    ///
    /// - Parameter count: by how many the limit grows.
    /// - Throws: as ``init(_:)``.
    public func loadMore(_ count: Int) throws {
        guard let grown = try results.growing(by: count), let token else { return }
        results = grown
        let next = try observe()
        // It is the basis from which the server goes on.
        former?.stop()
        former = token
        self.token = next
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
        guard change.isInitial || change.changesResults else { return }
        let changed = Set(change.insertions).union(change.modifications)
        var next: [Element] = []
        var ids: [ObjectID: Element] = [:]
        next.reserveCapacity(change.results.count)
        for index in change.results.indices {
            let id = change.results.objectID(at: index)
            let isKnown = changed.contains(index) ? nil : known[id]
            if isKnown == nil { decodedCount += 1 }
            let element = isKnown ?? change.results[index]
            next.append(element)
            ids[id] = element
        }
        known = ids
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
