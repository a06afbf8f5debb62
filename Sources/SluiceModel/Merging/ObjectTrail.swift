/// Records what was done to one object since its last creation or deletion, so that merging finds what it needs in
/// logarithmic time.
///
/// It is a class because the index keeps it while an ``ObjectHistory`` reads it: a copy for each operation would make a
/// long backlog on one object quadratic.
package final class ObjectTrail {
    /// What was done to one property.
    fileprivate struct PropertyTrail {
        var assignments = StampStack()
        var additions = AdditionTree()
        /// The edits of elements since the last assignment, by the names of the elements.
        var edits: [Value: StampStack] = [:]
        /// The same for the elements of a list.
        var list = ListTrail()
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
            case .edit(let edits):
                stepCount += UInt64(edits.count)
                for name in edits.outcomes.keys {
                    properties[property, default: PropertyTrail()].edits[name, default: StampStack()].push(stamp)
                }
            case .editList(let edits):
                stepCount += UInt64(edits.count)
                properties[property, default: PropertyTrail()].list.note(edits, stamp)
            case .set, .clear, nil:
                properties[property, default: PropertyTrail()].assignments.push(stamp)
                // What was edited before is gone, and with it what an edit would have to be later than.
                properties[property]?.edits = [:]
                properties[property]?.list = ListTrail()
            }
        }
    }

    func latestAssignment(of property: Int, since version: UInt64) -> WriteStamp? {
        stepCount += 1
        return properties[property]?.assignments.latest(since: version)
    }

    func isAssigned(
        _ property: Int, byOtherThan client: UInt64, since version: UInt64, laterThan stamp: WriteStamp? = nil
    ) -> Bool {
        stepCount += 1
        return properties[property]?.assignments.contains(otherThan: client, since: version, laterThan: stamp) ?? false
    }

    func latestEdit(of property: Int, element: Value, since version: UInt64) -> WriteStamp? {
        stepCount += 1
        return properties[property]?.edits[element]?.latest(since: version)
    }

    func latestEdit(
        of property: Int, element: ObjectID, _ part: ListEdits.Part, since version: UInt64
    ) -> WriteStamp? {
        stepCount += 1
        return properties[property]?.list.latest(of: element, part, since: version)
    }

    func additions(to property: Int, since version: UInt64, laterThan stamp: WriteStamp) -> [Value] {
        properties[property]?.additions.amounts(since: version, laterThan: stamp, steps: &stepCount) ?? []
    }
}
