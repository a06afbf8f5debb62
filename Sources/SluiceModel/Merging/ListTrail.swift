/// What was done to the elements of a list since it was set as a whole, so that merging finds what an author had not
/// seen. O(log n) for each question.
struct ListTrail {
    private var places: [ObjectID: StampStack] = [:]
    private var contents: [ObjectID: StampStack] = [:]

    /// Notes edits that had an effect.
    mutating func note(_ edits: ListEdits, _ stamp: WriteStamp) {
        for (id, outcome) in edits.outcomes {
            guard case .changed(let place, let value) = outcome else { continue }
            if place != nil { places[id, default: StampStack()].push(stamp) }
            if value != nil { contents[id, default: StampStack()].push(stamp) }
        }
    }

    /// The latest write by stamp of one part of an element, of those after a version.
    func latest(of element: ObjectID, _ part: ListEdits.Part, since version: UInt64) -> WriteStamp? {
        (part == .place ? places : contents)[element]?.latest(since: version)
    }
}
