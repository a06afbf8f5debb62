package import SluiceModel
package import SluiceQuery

/// How one object's part in a view differs between a past state and the present one.
package struct ViewDifference: Sendable, Hashable {
    package let object: ObjectRef
    /// What it was in the past state; nil if the view did not have it.
    package let before: ViewMember?
    /// What it is; nil if the view no longer has it.
    package let now: ViewMember?
    /// What a follower who stands at the past state lacks: values that changed, and properties that were not included.
    package let changed: PropertySet
    /// Why it is no longer the root, or no longer in the view, that it was, if it is not.
    package let reason: RemovalReason
}

extension LiveView {
    /// How the view differs from what it was before a commit or many together.
    ///
    /// A copy of the view is brought back by the opposite of the commit, so the cost is that of applying the commit, plus a
    /// copy of the memory that the view's members take. The view itself stays as it is.
    ///
    /// - Parameters:
    ///   - commit: what changed since the past state.
    ///   - source: the present state, which the view stands at.
    /// - Returns: the differences, ascending by object.
    package func differences(since commit: CommitDelta, in source: any ViewSource) throws -> [ViewDifference] {
        let past = PastSource(commit, over: source, schema: schema)
        let opposite = CommitDelta(
            changes: commit.changes.map { ObjectDelta(object: $0.object, old: $0.new, new: $0.old, authors: []) },
            version: commit.version)
        let earlier = LiveView(copying: self)
        let present = OldStateSource(opposite, over: past, schema: schema)
        guard let delta = try earlier.apply(opposite, in: past, before: present) else { return [] }
        return try delta.objects.sorted().map { object in
            let before = try earlier.member(object, in: past)
            let now = try member(object, in: source)
            var changed = PropertySet()
            if let now {
                changed = now.included.intersection(commit.change(of: object)?.changed ?? [])
                changed.formUnion(now.included.subtracting(before?.included ?? []))
            }
            return ViewDifference(
                object: object, before: before, now: now, changed: changed,
                reason: try reasonOfDeparture(object, wasRoot: before?.role == .root, in: source))
        }
    }

    /// Why an object that was in the view is not, or is no root any more, in the state that the view stands at.
    package func reasonOfDeparture(
        _ object: ObjectRef, wasRoot: Bool, in source: any ObjectSource
    ) throws -> RemovalReason {
        guard let row = try source.row(object) else { return .deleted }
        guard wasRoot, query.limit != nil, object.classIndex == query.classIndex else { return .filter }
        return try evaluator.matches(row, in: source) ? .window : .filter
    }
}

extension ViewDelta {
    /// Every object that the delta speaks of, each once.
    package var objects: Set<ObjectRef> {
        var objects = Set((entered + updated + linkedEntered + linkedUpdated).lazy.map(\.object))
        objects.formUnion((left + linkedLeft).lazy.map(\.object))
        return objects
    }
}
