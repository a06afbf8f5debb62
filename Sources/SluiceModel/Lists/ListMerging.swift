/// What was done to a list by all, so that merging finds what an author had not seen. O(log n) for each question.
package struct ListTrail {
    private var assignments = StampStack()
    private var places: [ObjectID: StampStack] = [:]
    private var contents: [ObjectID: StampStack] = [:]
    /// How many stacks were read or written, for tests of how the work grows.
    package private(set) var stepCount = 0

    package init() {}

    /// Notes that the list was set as a whole, or emptied.
    package mutating func noteAssignment(_ stamp: WriteStamp) {
        stepCount += 1
        assignments.push(stamp)
        // What was edited before is gone.
        places = [:]
        contents = [:]
    }

    /// Notes edits that had an effect.
    package mutating func note(_ edits: ListEdits, _ stamp: WriteStamp) {
        stepCount += edits.count
        for (id, outcome) in edits.outcomes {
            guard case .changed(let place, let value) = outcome else { continue }
            if place != nil { places[id, default: StampStack()].push(stamp) }
            if value != nil { contents[id, default: StampStack()].push(stamp) }
        }
    }

    /// Whether an assignment is superseded by a concurrent one.
    package func outdoes(_ author: WriteStamp, since version: UInt64) -> Bool {
        assignments.latest(since: version).map { author < $0 } ?? false
    }

    /// What of edits has an effect, considering what others did concurrently; none if they are superseded.
    ///
    /// - An assignment by another beats edits, whatever the times.
    /// - Of two moves of an element the later wins, and so it is with two values that are set.
    /// - What is erased stays erased.
    ///
    /// - Parameters:
    ///   - list: the server's list.
    ///   - version: the version that the author knew.
    package mutating func effective(
        _ edits: ListEdits, in list: inout ElementList, author: WriteStamp, since version: UInt64
    ) -> ListEdits {
        stepCount += 1
        guard !assignments.contains(otherThan: author.clientID, since: version) else {
            return ListEdits()
        }
        var effective: [ObjectID: ListEdits.Outcome] = [:]
        for (id, outcome) in edits.outcomes {
            stepCount += 1
            switch outcome {
            case .inserted: effective[id] = outcome
            case .erased where list.element(id) != nil: effective[id] = outcome
            case .changed(let place, let value) where list.element(id) != nil:
                func counts(_ stack: StampStack?) -> Bool {
                    stack?.latest(since: version).map { !(author < $0) } ?? true
                }
                let left = (
                    place.flatMap { counts(places[id]) ? $0 : nil },
                    value.flatMap { counts(contents[id]) ? $0 : nil }
                )
                if left.0 != nil || left.1 != nil { effective[id] = .changed(left.0, left.1) }
            case .erased, .changed: break
            }
        }
        return ListEdits(effective)
    }
}
