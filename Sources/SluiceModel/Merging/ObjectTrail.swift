/// Records what was done to one object since its last creation or deletion, and who has come to it since the last
/// deletion, so that merging finds what it needs in logarithmic time.
///
/// It is a class because the index keeps it while an ``ObjectHistory`` reads it: a copy for each operation would make a
/// long backlog on one object quadratic.
package final class ObjectTrail {
    /// What was done to one property.
    fileprivate struct PropertyTrail {
        /// When a default came that nobody has chosen.
        var defaults = StampStack()
        var assignments = StampStack()
        var additions = AdditionTree()
        /// The edits of elements since the last assignment, by the names of the elements.
        var edits: [Value: StampStack] = [:]
        /// The same for the elements of a list.
        var list = ListTrail()
        /// The version of the last change that is no assignment.
        var lastPartial: UInt64 = 0

        /// Whether there is anything but defaults after a version.
        func isWritten(since version: UInt64) -> Bool {
            lastPartial > version || assignments.latest(since: version) != nil
        }
    }

    package private(set) var deleted: WriteStamp?
    /// Whether the object was created or deleted here, so that nothing counts that was done to it before.
    package private(set) var isWhole = false
    /// The last deletion, whether or not the object was created again; nil if there is none here.
    private var lastDeletion: WriteStamp?
    /// The creations since then: the one that made the object, and those that met it.
    private var creations = StampStack()
    /// Who has changed the object since then.
    private var writers: Set<UInt64> = []
    private var properties: [Int: PropertyTrail] = [:]
    /// How many stamps and stretches were read, for tests of how the work grows.
    package internal(set) var stepCount: UInt64 = 0

    package init() {}

    /// Appends a change, whose version must be later than all before. Amortised O(written properties).
    ///
    /// - Parameters:
    ///   - defaulted: which of `written` got a default, and no more.
    ///   - partial: how those of `written` were changed that were not assigned.
    ///   - creates: whether an update was a creation that met the object.
    package func append(
        _ kind: WriteKind, written: PropertySet, defaulted: PropertySet = [], partial: [FieldOperation],
        creates: Bool = false, _ stamp: WriteStamp
    ) {
        switch kind {
        case .create, .delete:
            deleted = kind == .delete ? stamp : nil
            isWhole = true
            properties = [:]
        case .update: break
        }
        if kind == .delete {
            lastDeletion = stamp
            creations = StampStack()
            writers = []
        } else {
            if creates || kind == .create { creations.push(stamp) }
            writers.insert(stamp.clientID)
        }
        for property in written {
            stepCount += 1
            guard !defaulted.contains(property) else {
                properties[property, default: PropertyTrail()].defaults.push(stamp)
                continue
            }
            let partial = kind == .update ? partial.first { $0.property == property } : nil
            if partial != nil { properties[property, default: PropertyTrail()].lastPartial = stamp.version }
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
            case .set, .setDefault, .clear, nil:
                properties[property, default: PropertyTrail()].assignments.push(stamp)
                // What was edited before is gone, and with it what an edit would have to be later than.
                properties[property]?.edits = [:]
                properties[property]?.list = ListTrail()
            }
        }
    }

    func latestCreation(since version: UInt64) -> WriteStamp? {
        stepCount += 1
        return creations.latest(since: version)
    }

    /// The last deletion after a version.
    func lastDeletion(since version: UInt64) -> WriteStamp? {
        lastDeletion.flatMap { $0.version > version ? $0 : nil }
    }

    /// Whether a client has changed the object since the last deletion.
    func isWritten(by client: UInt64) -> Bool { writers.contains(client) }

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

    func latestDefault(of property: Int, since version: UInt64) -> WriteStamp? {
        stepCount += 1
        return properties[property]?.defaults.latest(since: version)
    }

    /// Whether a property was written, apart from defaults.
    func isWritten(_ property: Int, since version: UInt64) -> Bool {
        stepCount += 1
        return properties[property]?.isWritten(since: version) ?? false
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
