/// Records what was done to one object since its last creation or deletion, and what it goes back to, so that merging
/// finds what it needs in logarithmic time.
///
/// It is a class because the index keeps it while an ``ObjectHistory`` reads it: a copy for each operation would make a
/// long backlog on one object quadratic.
package final class ObjectTrail {
    /// What was done to one property.
    struct PropertyTrail {
        /// When a default came that nobody has chosen.
        var defaults = StampStack()
        var assignments = StampStack()
        var additions = AdditionTree()
        /// The edits of elements since the last assignment, by the names of the elements.
        var edits: [Value: StampStack] = [:]
        /// The same for the elements of a list.
        var list = ListTrail()
    }

    /// Whether the object was created or deleted here, so that nothing counts that was done to it before.
    package private(set) var isWhole = false
    var lineages = Lineages()
    /// What was done since a creation met the object; nil if the object goes back to one thing alone.
    private(set) var contest: Contest?
    private var properties: [Int: PropertyTrail] = [:]
    /// How many stamps and stretches were read, for tests of how the work grows.
    package internal(set) var stepCount: UInt64 = 0

    package init() {}

    /// A trail that says the same and goes its own way.
    package func copy() -> ObjectTrail {
        let copy = ObjectTrail()
        copy.isWhole = isWhole
        copy.lineages = lineages
        copy.contest = contest
        copy.properties = properties
        return copy
    }

    /// The trail of what the contest has kept, with the deletions that are known now.
    func beforeFormer() -> ObjectTrail {
        let trail = deletionsAlone()
        guard let contest, let former = contest.former else { return trail }
        trail.lineages = former.lineages
        trail.lineages.setDeletions(lineages.deletions)
        trail.properties = former.properties
        trail.contest = contest.beforeFormer
        return trail
    }

    /// A trail that knows of nothing but deletions.
    func deletionsAlone() -> ObjectTrail {
        let trail = ObjectTrail()
        trail.isWhole = true
        trail.lineages.clear()
        trail.lineages.setDeletions(lineages.deletions)
        return trail
    }

    private func take(_ other: ObjectTrail) {
        isWhole = true
        lineages = other.lineages
        contest = other.contest
        properties = other.properties
    }

    /// Whether several creations have made the object what it is, so that a deletion may take out a part of it.
    package var isContested: Bool { contest != nil }

    /// Takes over deletions of which the trail has read the last part.
    package func setDeletions(_ deletions: StampStack) { lineages.setDeletions(deletions) }

    /// Appends a write, whose version must be later than all before. Amortised O(written properties).
    package func append(_ note: WriteNote, _ stamp: WriteStamp) {
        if note.deletes || note.kind == .delete { lineages.noteDeletion(stamp) }
        switch note.kind {
        case .delete:
            isWhole = true
            lineages.clear()
            contest = nil
            properties = [:]
            return
        case .create:
            isWhole = true
            lineages.clear()
            lineages.noteCreation(stamp)
            contest = nil
            properties = [:]
        case .update:
            if let rest = note.lineage?.rest {
                let left = rest.keepsFormer ? beforeFormer() : deletionsAlone()
                for write in rest.writes { left.append(write.note, write.stamp) }
                stepCount += left.stepCount
                return take(left)
            }
            if note.creates {
                if contest == nil { contest = Contest(lineages.creations) }
                if let row = note.lineage?.former { contest?.keep(row, lineages, properties) }
                lineages.noteCreation(stamp)
            }
            contest?.append(note, stamp)
        }
        for property in note.written { append(note, property, stamp) }
    }

    private func append(_ note: WriteNote, _ property: Int, _ stamp: WriteStamp) {
        stepCount += 1
        let partial = note.partial.first { $0.property == property }
        if note.defaulted.contains(property) {
            properties[property, default: PropertyTrail()].defaults.push(stamp)
            guard partial != nil else { return }
        }
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

    /// - Parameter stamp: nil for all additions.
    func additions(to property: Int, since version: UInt64, laterThan stamp: WriteStamp?) -> [Value] {
        properties[property]?.additions.amounts(since: version, laterThan: stamp ?? .earliest, steps: &stepCount) ?? []
    }
}
