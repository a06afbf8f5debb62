package import SluiceModel
import SluiceQuery

/// Compares views with the oracle after a commit: what they hold, and what they have reported.
///
/// It reads the whole class for each view, in the state before the commit and in the state after it, and shares no code
/// with live views apart from the evaluator. Tests use it, and so does a server that is built with `SLUICE_CHECK`.
package struct ViewCheck {
    private let commit: CommitDelta
    private let source: any ViewSource
    private let before: StateBefore
    private let schema: Schema

    /// - Parameters:
    ///   - commit: what led to the state of `source`.
    ///   - source: the state that the views are at.
    package init(_ commit: CommitDelta, in source: any ViewSource, schema: Schema) {
        self.commit = commit
        self.source = source
        self.schema = schema
        before = StateBefore(commit, over: source, schema: schema)
    }

    /// What is wrong with a view; empty if nothing is.
    ///
    /// - Parameter delta: what the view has reported of the commit; nil if it reported nothing or was not found.
    package func problems(of view: LiveView, reporting delta: ViewDelta?) throws -> [String] {
        let old = try ViewSnapshot(of: view.query, schema: schema, in: view.readable(before as any ViewSource))
        let new = try ViewSnapshot(of: view.query, schema: schema, in: view.readable(source))
        return try problems(of: view, from: old, to: new, reporting: delta)
    }

    /// Does the same with what the oracle says of both states.
    func problems(
        of view: LiveView, from old: ViewSnapshot, to new: ViewSnapshot, reporting delta: ViewDelta?
    ) throws -> [String] {
        var problems = try stateProblems(of: view, new)
        let expected = try self.delta(of: view, from: old, to: new)
        func compare<Part: Equatable>(_ name: String, _ part: KeyPath<ViewDelta, [Part]>) {
            let (reported, right) = ((delta ?? ViewDelta())[keyPath: part], expected[keyPath: part])
            if reported != right { problems.append("reported \(name) \(reported) instead of \(right)") }
        }
        compare("entered", \.entered)
        compare("left", \.left)
        compare("updated", \.updated)
        compare("linked that entered", \.linkedEntered)
        compare("linked that left", \.linkedLeft)
        compare("linked that were updated", \.linkedUpdated)
        let total = old.total == new.total ? nil : new.total
        if delta?.total != total {
            problems.append("reported the total \(text(delta?.total)) instead of \(text(total))")
        }
        problems += figureProblems(of: view, from: old, to: new, reporting: delta?.figures)
        if let delta, delta.isEmpty { problems.append("reported an empty change") }
        return problems.map { "the view of '\(view.query.canonicalText)' \($0)" }
    }

    private func stateProblems(of view: LiveView, _ snapshot: ViewSnapshot) throws -> [String] {
        var problems: [String] = []
        let readable: any ObjectSource = view.readable(source)
        if let held = view.heldRoots {
            let present = try held.filter { try readable.isPresent($0) }
            if present != snapshot.roots { problems.append("holds \(held) instead of \(snapshot.roots)") }
        }
        let roots = Set(snapshot.roots)
        for (object, included) in snapshot.included {
            let right = ViewMember(role: roots.contains(object) ? .root : .linked, included: included)
            let member = try view.member(object, in: source)
            if member != right {
                problems.append("has \(object) as \(member.map { "\($0)" } ?? "nothing") instead of \(right)")
            }
        }
        var linked: Set<ObjectRef> = []
        try view.forEachLinked(in: source) { object, _ in linked.insert(object) }
        if linked != snapshot.linked { problems.append("links to \(linked) instead of \(snapshot.linked)") }
        if case .window(let window) = view.roots { problems += try windowProblems(window, of: view) }
        if view.matchCount != snapshot.total {
            problems.append("counts \(text(view.matchCount)) instead of \(text(snapshot.total))")
        }
        if let closure = view.closure { problems += try closure.problems(roots: snapshot.roots, in: readable) }
        return problems
    }

    /// What is wrong with what a view computes, and with what it has reported of that.
    private func figureProblems(
        of view: LiveView, from old: ViewSnapshot, to new: ViewSnapshot, reporting change: FigureChange?
    ) -> [String] {
        guard let aggregates = view.query.aggregates, let before = old.groups, let now = new.groups else {
            return change == nil && view.figures == nil ? [] : ["computes what nobody asks for"]
        }
        var problems: [String] = []
        let held = aggregates.shown(view.figures ?? []).map(aggregates.columns)
        if held != now { problems.append("computes \(held) instead of \(now)") }
        let width = aggregates.groups.count
        var told = Dictionary(uniqueKeysWithValues: before.map { (Array($0.prefix(width)), $0) })
        for keys in change?.removed ?? [] where told.removeValue(forKey: keys) == nil {
            problems.append("removed the group \(keys), which was not there")
        }
        for group in change?.changed ?? [] { told[group.keys] = aggregates.columns(of: group) }
        let right = Dictionary(uniqueKeysWithValues: now.map { (Array($0.prefix(width)), $0) })
        if told != right { problems.append("reported groups that come to \(told) instead of \(right)") }
        return problems
    }

    private func text(_ count: Int?) -> String { count.map { "\($0)" } ?? "nothing" }

    /// A window holds all matches up to its boundary, in order.
    private func windowProblems(_ window: Window, of view: LiveView) throws -> [String] {
        // With a limit of zero it does not matter what is held.
        guard window.limit > 0 else { return [] }
        var right: [ObjectKey] = []
        try source.rows(matching: view.query, after: nil, limit: window.entries.count + 1) { row in
            right.append(row.key)
            return true
        }
        let held = window.entries.map(\.key)
        if window.boundary == nil {
            return held == right ? [] : ["holds \(held) of its order instead of everything, \(right)"]
        }
        return held == Array(right.prefix(held.count))
            ? [] : ["holds \(held) of its order instead of \(right.prefix(held.count))"]
    }

    private func delta(of view: LiveView, from old: ViewSnapshot, to new: ViewSnapshot) throws -> ViewDelta {
        let (oldRoots, newRoots) = (Set(old.roots), Set(new.roots))
        var delta = ViewDelta()
        for object in Set(old.included.keys).union(new.included.keys).sorted() {
            let (wasRoot, isRoot) = (oldRoots.contains(object), newRoots.contains(object))
            let (before, now) = (old.included[object], new.included[object])
            if wasRoot, !isRoot {
                delta.left.append(ViewDeparture(object: object, reason: try reason(object, of: view)))
            }
            guard let now else {
                if !wasRoot {
                    let reason = try reasonOfAbsence(object, of: view) ?? .filter
                    delta.linkedLeft.append(ViewDeparture(object: object, reason: reason))
                }
                continue
            }
            let lacked = now.subtracting(before ?? []).union(now.intersection(try changed(object, of: view)))
            let entry = ViewObject(object: object, included: now, changed: before == nil ? now : lacked)
            let differs = before != now || !lacked.isEmpty
            if isRoot {
                if !wasRoot { delta.entered.append(entry) } else if differs { delta.updated.append(entry) }
            } else if wasRoot || before == nil {
                delta.linkedEntered.append(entry)
            } else if differs {
                delta.linkedUpdated.append(entry)
            }
        }
        return delta
    }

    /// The properties in which an object shows something else after the commit.
    private func changed(_ object: ObjectRef, of view: LiveView) throws -> PropertySet {
        let (old, new) = (view.readable(before as any ObjectSource), view.readable(source as any ObjectSource))
        guard let was = try old.row(object), let now = try new.row(object) else { return [] }
        return ObjectDelta(object: object, old: was, new: now, authors: []).changed
    }

    private func reason(_ object: ObjectRef, of view: LiveView) throws -> RemovalReason {
        if let reason = try reasonOfAbsence(object, of: view) { return reason }
        let readable: any ObjectSource = view.readable(source)
        guard let row = try readable.row(object), view.query.object == nil else { return .deleted }
        return try Evaluator(view.query, schema: schema).matches(row, in: readable) ? .window : .filter
    }

    /// Why an object is absent for the view's reader; nil if it is present.
    private func reasonOfAbsence(_ object: ObjectRef, of view: LiveView) throws -> RemovalReason? {
        guard try source.isPresent(object) else { return .deleted }
        let readable: any ObjectSource = view.readable(source)
        return try readable.isPresent(object) ? nil : .permission
    }
}

/// The state before a commit, which answers by looking at every object of a class.
private final class StateBefore: ViewSource {
    private let commit: CommitDelta
    private let after: any ViewSource
    private let schema: Schema
    private let state: OldStateSource
    /// The queries for all objects, by class.
    private var everything: [Int: Query] = [:]

    init(_ commit: CommitDelta, over after: any ViewSource, schema: Schema) {
        self.commit = commit
        self.after = after
        self.schema = schema
        state = OldStateSource(commit, over: after, schema: schema)
    }

    var now: Timestamp { state.now }

    func row(_ object: ObjectRef) throws -> Row? { try state.row(object) }

    func isPresent(_ object: ObjectRef) throws -> Bool { try state.isPresent(object) }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try state.backlinks(to: object, fromClass: classIndex, property: property, body)
    }

    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws {
        let evaluator = Evaluator(query, schema: schema)
        let order = SortOrder(query.sort)
        var found: [(position: SortPosition, row: Row)] = []
        let context = query.context
        let seen: any ObjectSource = context.isEverything ? state : ReadableObjects(state, in: context)
        func judge(_ stored: Row) throws {
            guard try context.allows(stored, ofClass: query.classIndex, in: state) else { return }
            let row = try context.shown(stored, ofClass: query.classIndex, in: state)
            guard try evaluator.matches(row, in: seen) else { return }
            let id = Identity(className: query.className, key: row.key).objectID
            let own = SortPosition(values: try evaluator.sortValues(of: row, in: seen), id: id)
            if let position, !order.precedes(position, own) { return }
            found.append((own, row))
        }
        let all =
            try everything[query.classIndex]
            ?? Query.parse("TRUEPREDICATE", className: query.className, schema: schema)
        everything[query.classIndex] = all
        try after.rows(matching: all, after: nil, limit: nil) { row in
            if commit.change(of: ObjectRef(query.classIndex, row.key)) == nil { try judge(row) }
            return true
        }
        for change in commit.changes where change.object.classIndex == query.classIndex {
            if let old = change.old { try judge(old) }
        }
        found.sort { order.precedes($0.position, $1.position) }
        for (_, row) in found.prefix(limit ?? .max) { guard try body(row) else { return } }
    }

    func object(withID id: ObjectID) throws -> ObjectRef? {
        let changed = commit.changes.first { change in
            change.old != nil
                && Identity(className: schema[change.object.classIndex].name, key: change.object.key).objectID == id
        }
        if let changed { return changed.object }
        guard let object = try after.object(withID: id), commit.change(of: object) == nil else { return nil }
        return object
    }
}
