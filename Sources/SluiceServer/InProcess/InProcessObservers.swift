package import SluiceModel
package import SluiceQuery
package import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The observers inside the server's own process: which views they have, and where their changes go.
///
/// An observer shares its view with the sessions that subscribe to the same query, and holds no rows: what changed is
/// taken from the commit. It belongs to the thread of its engine.
final class InProcessObservers {
    private struct Observer {
        let view: SharedView
        /// Who observes; its own writes are told apart.
        let handle: UInt64
        let inbox: ChangeInbox
    }

    private var observers: [UInt64: Observer] = [:]
    private var numbers: [ObjectIdentifier: [UInt64]] = [:]
    private var lastNumber: UInt64 = 0
    /// Who makes the commit that is being published; nil if no handle does.
    var writingHandle: UInt64?

    var isEmpty: Bool { observers.isEmpty }

    /// Begins to tell of a view's changes.
    ///
    /// - Returns: the number of the observation.
    func begin(_ view: SharedView, by handle: UInt64, _ inbox: ChangeInbox) -> UInt64 {
        lastNumber += 1
        observers[lastNumber] = Observer(view: view, handle: handle, inbox: inbox)
        numbers[ObjectIdentifier(view), default: []].append(lastNumber)
        view.isObserved = true
        return lastNumber
    }

    /// Ends an observation; nothing happens if it has ended.
    ///
    /// - Returns: the view, if nobody observes it any more.
    func end(_ number: UInt64) -> SharedView? {
        guard let ended = observers.removeValue(forKey: number) else { return nil }
        let view = ObjectIdentifier(ended.view)
        numbers[view]?.removeAll { $0 == number }
        guard numbers[view]?.isEmpty == true else { return nil }
        numbers[view] = nil
        ended.view.isObserved = false
        return ended.view
    }

    /// Ends the observations of a view that cannot go on.
    func fail(_ view: SharedView, _ error: ServerError) {
        view.isObserved = false
        for number in numbers.removeValue(forKey: ObjectIdentifier(view)) ?? [] {
            observers.removeValue(forKey: number)?.inbox.finish(error)
        }
    }

    /// Ends all observations.
    func failAll(_ error: ServerError) {
        let ended = observers.values
        observers = [:]
        numbers = [:]
        for observer in ended {
            observer.view.isObserved = false
            observer.inbox.finish(error)
        }
    }

    /// Tells the observers of a view how a group has changed it. O(changed results), and O(groups) for observers that have
    /// not taken an earlier change of what is computed.
    func note(_ delta: ViewDelta, of view: SharedView, in group: CommittedGroup, over storage: any ObjectReading)
        throws
    {
        guard !numbers.isEmpty, let concerned = numbers[ObjectIdentifier(view)] else { return }
        // Without a limit the results say themselves how many there are.
        var delta = delta
        if !view.query.countsMatches { delta.total = nil }
        let isComputed = delta.total != nil || delta.figures != nil
        guard !(delta.entered.isEmpty && delta.updated.isEmpty && delta.left.isEmpty) || isComputed else { return }
        let authors = delta.authors.map { group.authors[$0] }
        var told: [Bool: ObservedChange] = [:]
        var whole: [GroupFigures]?
        for number in concerned {
            guard let observer = observers[number] else { continue }
            let isOwn = observer.handle == writingHandle
            let change =
                try told[isOwn]
                ?? Self.change(
                    delta, group.delta, over: storage,
                    ObservedChange(
                        isOwn: isOwn, schema: storage.schema, version: group.delta.version, authors: authors))
            told[isOwn] = change
            guard delta.figures != nil, observer.inbox.hasWaitingFigures else {
                observer.inbox.add(change)
                continue
            }
            let groups = whole ?? view.live.figures ?? []
            whole = groups
            var late = change
            late.figures = .whole(groups)
            observer.inbox.add(late)
        }
    }

    private static func change(
        _ delta: ViewDelta, _ commit: CommitDelta, over storage: any ObjectReading, _ empty: ObservedChange
    ) throws -> ObservedChange {
        var change = empty
        change.total = delta.total
        change.figures = delta.figures.map { .change($0) }
        // What the group has changed is in memory; a window's next rows and rows that a link made match are not.
        func row(_ object: ObjectRef) throws -> Row? {
            if let changed = commit.change(of: object) { return changed.new }
            return try storage.row(object)
        }
        for departure in delta.left { change.add(.removed(departure.reason), of: departure.object) }
        for object in delta.entered {
            if let row = try row(object.object) { change.add(.inserted(row), of: object.object) }
        }
        for object in delta.updated {
            if let row = try row(object.object) { change.add(.modified(row, object.changed), of: object.object) }
        }
        return change
    }
}

extension ObjectReading {
    /// The rows of a query's results; in its order where it has one, else in the order of storage.
    package func results(of query: Query) throws -> [(object: ObjectRef, row: Row)] {
        var results: [(object: ObjectRef, row: Row)] = []
        if query.object != nil || query.isPartial || !query.sort.isEmpty {
            for object in try refs(matching: query) {
                if let row = try row(object) { results.append((object, row)) }
            }
        } else {
            try forEachRow(matching: query) { row in
                results.append((ObjectRef(query.classIndex, row.key), row))
                return true
            }
        }
        return results
    }
}
