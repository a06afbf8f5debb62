/// What is done to single elements of a list. What it does not name stays as it is.
package struct ListEdits: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case erased
        case inserted(ElementPlace, Value)
        /// Moved, set, or both.
        case changed(ElementPlace?, Value?)
    }

    package private(set) var outcomes: [ObjectID: Outcome]

    package init(_ outcomes: [ObjectID: Outcome] = [:]) { self.outcomes = outcomes }

    package var isEmpty: Bool { outcomes.isEmpty }
    package var count: Int { outcomes.count }

    package mutating func insert(_ id: ObjectID, at place: ElementPlace, _ value: Value) {
        append(id, .inserted(place, value))
    }

    package mutating func erase(_ id: ObjectID) { append(id, .erased) }

    package mutating func move(_ id: ObjectID, to place: ElementPlace) {
        append(id, .changed(place, nil))
    }

    package mutating func set(_ id: ObjectID, _ value: Value) { append(id, .changed(nil, value)) }

    /// Adds later edits. Amortised O(later edits).
    package mutating func append(_ later: ListEdits) {
        for (id, outcome) in later.outcomes { append(id, outcome) }
    }

    private mutating func append(_ id: ObjectID, _ later: Outcome) {
        switch (outcomes[id], later) {
        case (nil, _), (_, .erased), (_, .inserted): outcomes[id] = later
        // Nothing is done to what is erased.
        case (.erased?, .changed): break
        case (.inserted(let place, let value)?, .changed(let newPlace, let newValue)):
            outcomes[id] = .inserted(newPlace ?? place, newValue ?? value)
        case (.changed(let place, let value)?, .changed(let newPlace, let newValue)):
            outcomes[id] = .changed(newPlace ?? place, newValue ?? value)
        }
    }

    /// The edits that lead back to a list from what these make of it.
    package func inverse(of list: ElementList) -> ListEdits {
        var list = list
        var inverse = ListEdits()
        for (id, outcome) in outcomes {
            switch (list.element(id), outcome) {
            case (nil, .inserted): inverse.erase(id)
            case (nil, _): break
            case (let element?, .erased), (let element?, .inserted):
                inverse.insert(id, at: element.place, element.value)
            case (let element?, .changed(let place, let value)):
                inverse.append(
                    id, .changed(place.map { _ in element.place }, value.map { _ in element.value }))
            }
        }
        return inverse
    }
}
