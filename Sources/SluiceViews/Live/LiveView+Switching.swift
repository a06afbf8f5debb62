import SluiceModel
package import SluiceQuery

extension LiveView {
    /// What a view becomes when its reader's context changes with a commit group. The view itself does not change.
    ///
    /// - Parameters:
    ///   - difference: the group and the change of context. The view must be at the state before it, in the former context.
    ///   - query: the view's query in the new context.
    ///   - shape: the shape of that query.
    ///   - memberCountMax: the most members that are looked at to show what was hidden of them.
    /// - Returns: the view in the new context, and what changed for the clients of this view; nil if nothing did.
    /// - Throws: ``UnswitchableView``, and what the source throws.
    package func switched(
        by difference: ContextDifference, to query: Query, shape: ViewShape, memberCountMax: Int = .max
    ) throws -> (view: LiveView, delta: ViewDelta?) {
        guard shape.plan.followsSameLinks(as: plan), query.context.veilsSameLinks(as: self.query.context) else {
            throw UnswitchableView.followsOtherLinks
        }
        let copy = LiveView(copying: self)
        let delta = try copy.follow(difference.commit, in: difference.source, before: difference.before)
            .map(difference.explained)
        let switched = LiveView(switching: copy, to: query, shape: shape)
        guard shape.plan != plan else { return (switched, delta) }
        var veiled = VeiledDelta(delta ?? ViewDelta(), from: copy, to: switched)
        try switched.forEachMember(atMost: memberCountMax, in: difference.source) { veiled.show($0, isRoot: $1) }
        return (switched, veiled.delta)
    }

    /// Calls `body` with every member, roots first. The view must not change meanwhile.
    ///
    /// - Parameter source: the state as the view's reader sees it.
    private func forEachMember(
        atMost countMax: Int, in source: any ViewSource, _ body: (ObjectRef, _ isRoot: Bool) -> Void
    ) throws {
        var roots: [ObjectRef] = []
        switch self.roots {
        case .object(let object?): roots = try source.isPresent(object) ? [object] : []
        case .matches, .counted, .expected:
            try source.rows(matching: query, after: nil, limit: nil) { row in
                roots.append(ObjectRef(query.classIndex, row.key))
                return roots.count <= countMax
            }
        case .object(nil), .unshown, .window, .stages, .figures: roots = heldRoots ?? []
        }
        guard roots.count + linkedCount <= countMax else { throw UnswitchableView.hasTooManyMembers }
        for root in roots { body(root, true) }
        for object in linkedObjects where try !isRoot(object, in: source) { body(object, false) }
    }
}

/// Why a view cannot be switched from one context to another, so that its clients must be sent everything anew.
package enum UnswitchableView: Error {
    /// A link property, or the identity of what links lead to, is hidden in one of the contexts.
    case followsOtherLinks
    /// Too many members have to be sent again.
    case hasTooManyMembers
}

/// A change of a view, fitted to a reader from whom other properties are hidden than before: it tells nothing of those
/// that are hidden now, and brings those that were hidden before.
private struct VeiledDelta {
    private let former: LiveView
    private let now: LiveView
    private var value: ViewDelta
    /// The objects that stay and are in the delta.
    private var updated: [ObjectRef: Int] = [:]
    private var linkedUpdated: [ObjectRef: Int] = [:]
    private let entered: Set<ObjectRef>

    /// - Parameters:
    ///   - delta: the change as the former reader is told of it.
    ///   - former: the view after the change, with what was included before.
    ///   - now: the same view, with what is included now.
    init(_ delta: ViewDelta, from former: LiveView, to now: LiveView) {
        self.former = former
        self.now = now
        value = delta
        value.entered = delta.entered.map { Self.whole($0, now, isRoot: true) }
        value.linkedEntered = delta.linkedEntered.map { Self.whole($0, now, isRoot: false) }
        value.updated = []
        value.linkedUpdated = []
        entered = Set((delta.entered + delta.linkedEntered).map(\.object))
        for entry in delta.updated { add(entry.object, entry.changed, isRoot: true) }
        for entry in delta.linkedUpdated { add(entry.object, entry.changed, isRoot: false) }
    }

    private static func included(_ object: ObjectRef, _ view: LiveView, isRoot: Bool) -> PropertySet {
        isRoot ? view.includedOfRoot(object) : view.closure?.included(object) ?? []
    }

    private static func whole(_ entry: ViewObject, _ view: LiveView, isRoot: Bool) -> ViewObject {
        let included = included(entry.object, view, isRoot: isRoot)
        return ViewObject(object: entry.object, included: included, changed: included)
    }

    /// Adds what of a member was hidden before and is not now.
    mutating func show(_ object: ObjectRef, isRoot: Bool) {
        guard !entered.contains(object) else { return }
        let before = Self.included(object, former, isRoot: isRoot)
        add(object, Self.included(object, now, isRoot: isRoot).subtracting(before), isRoot: isRoot)
    }

    private mutating func add(_ object: ObjectRef, _ changed: PropertySet, isRoot: Bool) {
        let included = Self.included(object, now, isRoot: isRoot)
        let changed = changed.intersection(included)
        guard !changed.isEmpty else { return }
        func entry(_ earlier: ViewObject?) -> ViewObject {
            ViewObject(object: object, included: included, changed: changed.union(earlier?.changed ?? []))
        }
        if isRoot {
            let place = updated[object] ?? value.updated.count
            if place == value.updated.count { value.updated.append(entry(nil)) }
            value.updated[place] = entry(value.updated[place])
            updated[object] = place
        } else {
            let place = linkedUpdated[object] ?? value.linkedUpdated.count
            if place == value.linkedUpdated.count { value.linkedUpdated.append(entry(nil)) }
            value.linkedUpdated[place] = entry(value.linkedUpdated[place])
            linkedUpdated[object] = place
        }
    }

    /// The change; nil if there is none.
    var delta: ViewDelta? {
        guard !value.isEmpty else { return nil }
        var delta = value
        delta.updated.sort { $0.object < $1.object }
        delta.linkedUpdated.sort { $0.object < $1.object }
        return delta
    }
}
