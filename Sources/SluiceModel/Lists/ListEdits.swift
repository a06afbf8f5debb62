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

    /// The edits with other values; nil if one cannot be converted.
    package func mappingValues(_ convert: (Value) -> Value?) -> ListEdits? {
        var converted: [ObjectID: Outcome] = [:]
        converted.reserveCapacity(outcomes.count)
        for (id, outcome) in outcomes {
            switch outcome {
            case .erased, .changed(_, nil): converted[id] = outcome
            case .inserted(let place, let value):
                guard let value = convert(value) else { return nil }
                converted[id] = .inserted(place, value)
            case .changed(let place, let value?):
                guard let value = convert(value) else { return nil }
                converted[id] = .changed(place, value)
            }
        }
        return ListEdits(converted)
    }

    /// The values that elements are given, in no particular order.
    package var values: some Sequence<Value> {
        outcomes.values.lazy.compactMap { outcome in
            switch outcome {
            case .erased: nil
            case .inserted(_, let value): value
            case .changed(_, let value): value
            }
        }
    }

    /// The places that elements are given, in no particular order.
    package var places: some Sequence<ElementPlace> {
        outcomes.values.lazy.compactMap { outcome in
            switch outcome {
            case .erased: nil
            case .inserted(let place, _): place
            case .changed(let place, _): place
            }
        }
    }

    /// What is done, in the order of ids.
    package var ordered: [(id: ObjectID, place: ElementPlace?, value: Value?)] {
        outcomes.sorted { $0.key < $1.key }.map { id, outcome in
            switch outcome {
            case .erased: (id, nil, nil)
            case .inserted(let place, let value): (id, place, value)
            case .changed(let place, let value): (id, place, value)
            }
        }
    }

    /// The edits that make one state of a list of another, whatever was done to it in between. O(n).
    package static func between(_ old: ElementList, _ new: ElementList) -> ListEdits {
        var outcomes: [ObjectID: Outcome] = [:]
        var before: [ObjectID: ElementList.Element] = [:]
        // What is equal at both ends needs no look.
        let difference = new.difference(from: old)
        for element in difference.old {
            before[element.id] = element
            outcomes[element.id] = .erased
        }
        for element in difference.new {
            guard let former = before[element.id] else {
                outcomes[element.id] = .inserted(element.place, element.value)
                continue
            }
            let place = former.place == element.place ? nil : element.place
            let value = former.value.isIdentical(to: element.value) ? nil : element.value
            outcomes[element.id] = place == nil && value == nil ? nil : .changed(place, value)
        }
        return ListEdits(outcomes)
    }

    /// The edits that lead back to a list from what these make of it.
    ///
    /// They are for undoing alone: uploaded, they would bring back what others erase.
    package func inverse(of list: inout ElementList) -> ListEdits {
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

extension ListEdits: CustomStringConvertible {
    /// The outcomes in the order of the elements' ids, so that equal edits have one description.
    package var description: String {
        let outcomes = outcomes.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return "ListEdits(\(outcomes.joined(separator: ", ")))"
    }
}
