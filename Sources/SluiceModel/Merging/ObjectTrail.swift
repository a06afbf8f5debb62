/// Records what was done to one object since its last creation or deletion, so that merging finds what it needs in
/// logarithmic time.
///
/// It is a class because the index keeps it while an ``ObjectHistory`` reads it: a copy for each operation would make a
/// long backlog on one object quadratic.
package final class ObjectTrail {
    /// What was done to one property.
    fileprivate struct PropertyTrail {
        /// The assignments that no assignment of a later version overrides: versions ascend, stamps descend.
        var assignments: [WriteStamp] = []
        var additions = AdditionTree()
    }

    package private(set) var deleted: WriteStamp?
    /// Whether the object was created or deleted here, so that nothing counts that was done to it before.
    package private(set) var isWhole = false
    private var properties: [Int: PropertyTrail] = [:]
    /// How many stamps and stretches were read, for tests of how the work grows.
    package internal(set) var stepCount: UInt64 = 0

    package init() {}

    /// Appends a change, whose version must be later than all before. Amortised O(written properties).
    package func append(
        _ kind: WriteKind, written: PropertySet, partial: [FieldOperation], _ stamp: WriteStamp
    ) {
        switch kind {
        case .create, .delete:
            deleted = kind == .delete ? stamp : nil
            isWhole = true
            properties = [:]
        case .update: break
        }
        for property in written {
            stepCount += 1
            let partial = kind == .update ? partial.first { $0.property == property } : nil
            switch partial?.change {
            case .add(let amount): properties[property, default: PropertyTrail()].additions.append(amount, stamp)
            case .set, nil: properties[property, default: PropertyTrail()].assign(stamp)
            }
        }
    }

    func latestAssignment(of property: Int, since version: UInt64) -> WriteStamp? {
        stepCount += 1
        guard let assignments = properties[property]?.assignments else { return nil }
        let position = assignments.firstPosition { $0.version > version }
        return position < assignments.count ? assignments[position] : nil
    }

    func additions(to property: Int, since version: UInt64, laterThan stamp: WriteStamp) -> [Value] {
        properties[property]?.additions.amounts(since: version, laterThan: stamp, steps: &stepCount) ?? []
    }
}

extension ObjectTrail.PropertyTrail {
    fileprivate mutating func assign(_ stamp: WriteStamp) {
        while let last = assignments.last, !(stamp < last) { assignments.removeLast() }
        assignments.append(stamp)
    }
}
