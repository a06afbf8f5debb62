import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews

/// An observer that knows only its events, and checks each of them.
final class ObservationMirror {
    /// What the simulation does when an event arrives.
    enum Step { case local, content, other }

    var query: Query
    var id: UInt64 = 0
    /// Whether the observer delays saying that it is ready for the next event.
    var isLagging = false
    private(set) var awaitsReady = false
    private var entries: [ResultEntry] = []
    /// The results of the last events, and their rows as they were then.
    private var held: [(list: ResultList, rows: [Row])] = []
    private var isStarted = false
    private var status: SubscriptionStatus?
    private var total: ShownTotal?
    private var groups: ShownGroups?
    private(set) var failure: String?
    private let step: () -> Step

    /// - Parameter step: returns what the simulation is doing.
    init(_ query: Query, step: @escaping () -> Step) {
        self.query = query
        self.step = step
    }

    func receive(_ event: ResultEvent) {
        awaitsReady = true
        if event.isInitial == isStarted {
            fail(isStarted ? "a second initial event" : "the first event is not initial")
        }
        isStarted = true
        if let limit = query.limit, event.list.visibleCount > limit { fail("\(event.list.visibleCount) results") }
        if event.change.isEmpty, !event.changesFigures, !event.isInitial, event.status == status {
            fail("an event that says nothing")
        }
        if event.changesFigures != (event.total != total || event.groups != groups) {
            fail("an event tells wrongly whether what is computed changes")
        }
        groups = event.groups
        if let total = event.total, total.count < event.list.visibleCount { fail("a total below what is shown") }
        total = event.total
        if event.removed.count != event.change.deletions.count { fail("removed objects do not go with deletions") }
        for (deletion, object) in zip(event.change.deletions, event.removed)
        where !entries.indices.contains(deletion.index) || entries[deletion.index].object != object {
            fail("deletion at \(deletion.index) is not \(object)")
        }
        checkOrigin(event)
        status = event.status
        let visible = Array(event.list.visible)
        guard let applied = event.change.applied(to: entries, element: { visible[$0] }) else {
            return fail("the change does not fit the results before: \(event.change)")
        }
        entries = applied
        if !areEqual(applied, visible) { fail("the changes lead to other results than the event shows") }
        hold(event.list)
    }

    /// Keeps the results of an event, to be read again once the schema is another one.
    private func hold(_ list: ResultList) {
        let rows = list.visible.map(list.row)
        for (entry, row) in zip(list.visible, rows) {
            let properties = list.schema[entry.object.classIndex].properties
            if properties.count != row.values.count || !zip(properties, row.values).allSatisfy({ $0.type.accepts($1) })
            {
                fail("a row that is none of the event's schema")
            }
        }
        if held.count == 3 { held.removeFirst() }
        held.append((list, rows))
    }

    private func checkOrigin(_ event: ResultEvent) {
        if event.isInitial || event.change.isEmpty && !event.changesFigures {
            if event.remote != nil { fail("an event without change has a remote") }
        } else if !isLagging {
            switch step() {
            case .local: if event.remote != nil { fail("a local change has a remote") }
            case .content:
                // The store moves the time until it has caught up, also as a frame comes.
                if event.remote == nil, !query.readsTime { fail("the server's change has no remote") }
            case .other: break
            }
        }
    }

    private func fail(_ message: String) {
        if failure == nil { failure = "observer of '\(query)': \(message)" }
    }

    func becomeReady() { awaitsReady = false }

    /// Compares the observed results, their total and groups with those that a fetch returns.
    func check(_ list: ResultList, total: ShownTotal?, groups: ShownGroups?) throws {
        if held.contains(where: { list, rows in list.visible.map(list.row) != rows }) {
            fail("results that were held read as others")
        }
        if let failure { throw SimulationFailure(failure) }
        guard !isLagging else { return }
        let visible = Array(list.visible)
        let shown = total.map {
            ShownTotal(count: max($0.count, visible.count), isExact: $0.isExact && $0.count >= visible.count)
        }
        // Whether it is exact changes with the connection, where the time does.
        guard query.readsTime ? self.total?.count == shown?.count : self.total == shown else {
            throw SimulationFailure(
                "observer of '\(query)' has the total \(String(describing: self.total)), and fetching gives "
                    + "\(String(describing: shown))")
        }
        guard query.readsTime ? self.groups?.groups == groups?.groups : self.groups == groups else {
            throw SimulationFailure(
                "observer of '\(query)' has \(String(describing: self.groups)), and fetching gives \(String(describing: groups))"
            )
        }
        guard areEqual(entries, visible) else {
            throw SimulationFailure(
                "observer of '\(query)' has \(entries.map(\.object.key)), and fetching gives \(visible.map(\.object.key))"
                    + (entries.map(\.object) == visible.map(\.object) ? " with other contents" : ""))
        }
    }

    /// Whether both lists show the same, apart from properties that the query excludes.
    private func areEqual(_ left: [ResultEntry], _ right: [ResultEntry]) -> Bool {
        let excluded = query.exclusions.excludedRootProperties
        func isSame(_ left: Row, _ right: Row) -> Bool {
            left.absent.subtracting(excluded) == right.absent.subtracting(excluded)
                && left.values.indices.allSatisfy {
                    excluded.contains($0) || left.values[$0].isIdentical(to: right.values[$0])
                }
        }
        return left.count == right.count
            && zip(left, right).allSatisfy { $0.object == $1.object && isSame($0.row, $1.row) }
    }
}
