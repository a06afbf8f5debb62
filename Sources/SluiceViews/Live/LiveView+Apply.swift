import SluiceModel
import SluiceQuery

extension LiveView {
    /// Brings the view from the state before a commit group to the state after it.
    ///
    /// - Parameters:
    ///   - commit: the group. The view must have been active before it.
    ///   - source: the state after the group.
    ///   - before: the state before the group, shared by all views.
    /// - Returns: what changed for the clients of the view; nil if nothing did.
    /// - Throws: what the source throws. The view is then as it was if it is still active; else it is at no state, and
    ///   must be activated again.
    package func apply(
        _ commit: CommitDelta, in source: any ViewSource, before: OldStateSource
    ) throws -> ViewDelta? {
        precondition(isActive, "a view takes commits only once it is active")
        guard !query.context.isEverything else { return try follow(commit, in: source, before: before) }
        let reading = try before.reading(in: query.context, source)
        return try follow(reading.commit, in: reading.source, before: reading.before).map(reading.explained)
    }

    /// Does the same with a group and states as the view's reader sees them.
    func follow(
        _ commit: CommitDelta, in source: any ViewSource, before: OldStateSource
    ) throws -> ViewDelta? {
        guard shape.concerns(commit) else { return nil }
        let plan = plan
        // What holds the results of stages, or figures, changes while it reads, and a closure while it is followed.
        switch self.roots {
        case .stages, .figures: isActive = false
        case .matches, .counted, .expected, .object, .unshown, .window: break
        }
        let roots = try self.roots.apply(commit, judge, in: source, before: before)
        isActive = false
        let changesLinked = closure != nil && commit.classes.contains(where: plan.reaches)
        if roots.isEmpty, !changesLinked {
            closure?.beginStep()
            isActive = true
            return nil
        }
        if roots.all.isEmpty, closure == nil {
            isActive = true
            return ViewDelta(figuresOf: roots, by: commit)
        }
        try closure?.apply(commit, roots: roots.all, changesLinked: changesLinked, in: source, before: before)
        var builder = DeltaBuilder(view: self, commit: commit)
        for root in roots.all { builder.add(root) }
        builder.addTotal(of: roots)
        if let closure {
            if closure.isTouched, !changesLinked, !plan.isRootClassLinked {
                for (object, _) in closure.touched.entries { builder.addLinked(object) }
            } else if closure.isTouched || changesLinked {
                try addLinked(of: closure, roots.all, commit, to: &builder, in: source)
            }
        }
        isActive = true
        return builder.finish()
    }

    /// Adds the linked objects that a commit has changed, or has brought into the view or out of it.
    private func addLinked(
        of closure: LinkClosure, _ roots: [RootChange], _ commit: CommitDelta, to builder: inout DeltaBuilder,
        in source: any ViewSource
    ) throws {
        var judged: Set<ObjectRef> = []
        func add(_ object: ObjectRef) throws {
            if judged.isEmpty { judged = Set(roots.lazy.map(\.object)) }
            guard judged.insert(object).inserted else { return }
            let isRoot = try isRoot(object, in: source)
            builder.add(RootChange(object: object, wasRoot: isRoot, isRoot: isRoot, reason: .unknown))
        }
        for (object, _) in closure.touched.entries { try add(object) }
        for change in commit.changes where closure.included(change.object) != nil { try add(change.object) }
    }
}

extension ViewDelta {
    /// A change of nothing but the number of matches, or of what is computed.
    fileprivate init(figuresOf roots: RootChanges, by commit: CommitDelta) {
        self.init()
        total = roots.total
        figures = roots.figures
        for cause in roots.totalCauses { authors += commit.changes[cause].authors }
        if authors.count > 1 { authors = Set(authors).sorted() }
    }
}

/// Collects the changes of objects into a delta.
private struct DeltaBuilder {
    private let view: LiveView
    private let commit: CommitDelta
    private let closure: LinkClosure?
    private let shape: ViewShape
    private var delta = ViewDelta()
    private var authors: [Int] = []

    init(view: LiveView, commit: CommitDelta) {
        self.view = view
        self.commit = commit
        closure = view.closure
        shape = view.shape
    }

    /// Adds a linked object that is no root.
    mutating func addLinked(_ object: ObjectRef) {
        add(RootChange(object: object, wasRoot: false, isRoot: false, reason: .unknown))
    }

    /// Adds the number of matches and what is computed, where that is something else.
    mutating func addTotal(of roots: RootChanges) {
        guard roots.total != nil || roots.figures != nil else { return }
        delta.total = roots.total
        delta.figures = roots.figures
        for cause in roots.totalCauses { authors += commit.changes[cause].authors }
    }

    mutating func add(_ root: RootChange) {
        let object = root.object
        let change = commit.change(of: object)
        let rootProperties = shape.rootProperties(ofClass: object.classIndex)
        let linkedNow = closure?.included(object)
        let linkedBefore = closure?.includedBefore(object, now: linkedNow) ?? nil
        let before = root.wasRoot ? rootProperties.union(linkedBefore ?? []) : linkedBefore
        let now = root.isRoot ? rootProperties.union(linkedNow ?? []) : linkedNow

        if root.wasRoot, !root.isRoot {
            delta.left.append(ViewDeparture(object: object, reason: root.reason))
        }
        if let now {
            let changed = now.subtracting(before ?? []).union(now.intersection(change?.changed ?? []))
            let entry = ViewObject(object: object, included: now, changed: before == nil ? now : changed)
            let differs = before != now || !changed.isEmpty
            switch (root.wasRoot, root.isRoot) {
            case (false, true): delta.entered.append(entry)
            case (true, true): if differs { delta.updated.append(entry) } else { return }
            case (true, false): delta.linkedEntered.append(entry)
            case (false, false):
                if before == nil {
                    delta.linkedEntered.append(entry)
                } else if differs {
                    delta.linkedUpdated.append(entry)
                } else {
                    return
                }
            }
        } else if before == nil {
            return
        } else if !root.wasRoot {
            let isDeleted = change.map { $0.new == nil } ?? false
            delta.linkedLeft.append(ViewDeparture(object: object, reason: isDeleted ? .deleted : .filter))
        }
        credit(root, change, shown: (before ?? []).union(now ?? []))
    }

    /// Adds the authors whose changes are visible in the change that was just added.
    private mutating func credit(_ root: RootChange, _ change: ObjectDelta?, shown: PropertySet) {
        let changesRole = root.wasRoot != root.isRoot
        if changesRole { for cause in root.causes { authors += commit.changes[cause].authors } }
        guard let change else { return }
        let read = changesRole ? view.query.dependencies.rootProperties : []
        if change.concerns(shown.union(read)) { authors += change.authors }
    }

    func finish() -> ViewDelta? {
        guard !delta.isEmpty else { return nil }
        var delta = delta
        if delta.entered.count > 1 { delta.entered.sort { $0.object < $1.object } }
        if delta.left.count > 1 { delta.left.sort { $0.object < $1.object } }
        if delta.updated.count > 1 { delta.updated.sort { $0.object < $1.object } }
        if delta.linkedEntered.count > 1 { delta.linkedEntered.sort { $0.object < $1.object } }
        if delta.linkedLeft.count > 1 { delta.linkedLeft.sort { $0.object < $1.object } }
        if delta.linkedUpdated.count > 1 { delta.linkedUpdated.sort { $0.object < $1.object } }
        delta.authors = authors.count < 2 ? authors : Set(authors).sorted()
        return delta
    }
}
