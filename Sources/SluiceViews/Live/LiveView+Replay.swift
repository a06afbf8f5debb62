package import SluiceModel
package import SluiceQuery

/// How the role and content of one object in a view differ between a past state and the present one.
package struct ViewDifference: Sendable, Hashable {
    package let object: ObjectRef
    /// Its role in the past state; nil if the view did not contain it.
    package let before: ViewMember?
    /// Its role now; nil if the view no longer contains it.
    package let now: ViewMember?
    /// What a client at the past state lacks: the properties that changed, and those that were not included.
    package let changed: PropertySet
    /// Why the object is no longer a root, or no longer in the view. Has no meaning if it still is.
    package let reason: RemovalReason
}

extension LiveView {
    /// Computes how the view differs from its state before one or more commits.
    ///
    /// A copy of the view is taken back in time by applying the opposite of the commit. The cost is that of applying
    /// the commit, plus a copy of the memory that the view's members take. The view itself does not change.
    ///
    /// - Parameters:
    ///   - commit: all changes since the past state.
    ///   - source: the present state, which the view is at.
    /// - Returns: the differences, ascending by object.
    package func differences(since commit: CommitDelta, in source: any ViewSource) throws -> [ViewDifference] {
        // What is computed is sent as a whole.
        guard query.aggregates == nil else { return [] }
        guard !query.context.isEverything else { return try readableDifferences(since: commit, in: source) }
        let before = OldStateSource(commit, over: source, schema: schema)
        let reading = try before.reading(in: query.context, source)
        return try readableDifferences(since: reading.commit, in: reading.source).map { difference in
            guard difference.now == nil, try source.isPresent(difference.object),
                try !reading.source.isPresent(difference.object)
            else { return difference }
            return ViewDifference(
                object: difference.object, before: difference.before, now: nil, changed: [], reason: .permission)
        }
    }

    /// Does the same with changes and a state as the view's reader sees them.
    private func readableDifferences(
        since commit: CommitDelta, in source: any ViewSource
    ) throws -> [ViewDifference] {
        let past = PastSource(commit, over: source, schema: schema)
        let opposite = CommitDelta(
            changes: commit.changes.map {
                ObjectDelta(
                    object: $0.object, old: $0.new, new: $0.old, authors: [], written: $0.changed, passed: $0.passed)
            },
            version: commit.version, time: commit.time?.reversed)
        let earlier = LiveView(copying: self)
        let present = OldStateSource(opposite, over: past, schema: schema)
        guard let delta = try earlier.follow(opposite, in: past, before: present) else { return [] }
        return try delta.objects.sorted().map { object in
            let before = try earlier.readableMember(object, in: past)
            let now = try readableMember(object, in: source)
            var changed = PropertySet()
            if let now {
                changed = now.included.intersection(commit.change(of: object)?.changed ?? [])
                changed.formUnion(now.included.subtracting(before?.included ?? []))
            }
            return ViewDifference(
                object: object, before: before, now: now, changed: changed,
                reason: try readableReason(object, wasRoot: before?.role == .root, in: source))
        }
    }

    /// Why an object that was in the view is no longer in it, or no longer a root, in the present state of the view.
    package func reasonOfDeparture(
        _ object: ObjectRef, wasRoot: Bool, in source: any ObjectSource
    ) throws -> RemovalReason {
        let reason = try readableReason(object, wasRoot: wasRoot, in: readable(source))
        return try reason == .deleted && source.isPresent(object) ? .permission : reason
    }

    private func readableReason(
        _ object: ObjectRef, wasRoot: Bool, in source: any ObjectSource
    ) throws -> RemovalReason {
        guard let row = try source.row(object) else { return .deleted }
        guard wasRoot, query.isPartial, object.classIndex == query.classIndex else { return .filter }
        return try evaluator.matches(row, in: source) ? .window : .filter
    }
}

extension ViewDelta {
    /// All objects in the delta, each once.
    package var objects: Set<ObjectRef> {
        var objects: Set<ObjectRef> = []
        forEachObject { objects.insert($0) }
        return objects
    }

    /// Calls `body` with all objects in the delta, with some of them twice.
    package func forEachObject(_ body: (ObjectRef) -> Void) {
        for object in entered { body(object.object) }
        for object in updated { body(object.object) }
        for object in linkedEntered { body(object.object) }
        for object in linkedUpdated { body(object.object) }
        for departure in left { body(departure.object) }
        for departure in linkedLeft { body(departure.object) }
    }
}
