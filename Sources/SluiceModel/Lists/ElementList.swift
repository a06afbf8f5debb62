/// A list whose elements have hidden ids and places, so that operations name elements and not positions.
package struct ElementList: Hashable, Sendable {
    package struct Element: Hashable, Sendable {
        package let id: ObjectID
        package var place: ElementPlace
        package var value: Value

        package init(id: ObjectID, place: ElementPlace, value: Value) {
            self.id = id
            self.place = place
            self.value = value
        }

        func isIdentical(to other: Element) -> Bool {
            id == other.id && place == other.place && value.isIdentical(to: other.value)
        }

        /// Two places are equal only if an element returns to where another one was put since.
        fileprivate static func precedes(_ left: Element, _ right: Element) -> Bool {
            left.place != right.place ? left.place < right.place : left.id < right.id
        }
    }

    /// The elements in their order.
    package private(set) var elements: [Element]
    /// Where each element stands; nil until somebody asks.
    private var places: [ObjectID: ElementPlace]?
    /// How many elements were compared, for tests of how the work grows.
    package private(set) var stepCount = 0

    /// A list that was set as a whole. Its elements are known by what all the values are, and by their positions.
    package init(_ values: [Value]) {
        let fingerprint = values.isEmpty ? 0 : ListFingerprint(values).number
        elements = values.enumerated().map { index, value in
            Element(
                id: ObjectID(high: fingerprint, low: UInt64(index)), place: ElementPlace(index: index), value: value)
        }
    }

    /// A list with the identity of its elements; nil where that is not known.
    ///
    /// - Parameter identity: nil for a list that was set as a whole.
    package init?(_ values: [Value], _ identity: ListIdentity?) {
        guard let identity else {
            self.init(values)
            return
        }
        guard identity.count == values.count else { return nil }
        var position = 0
        var (elements, isAscending) = ([Element](), true)
        elements.reserveCapacity(values.count)
        identity.forEach { id, place in
            let element = Element(id: id, place: place, value: values[position])
            if let last = elements.last, !Element.precedes(last, element) { isAscending = false }
            elements.append(element)
            position += 1
        }
        // A peer may send anything.
        guard isAscending, Set(elements.lazy.map(\.id)).count == elements.count else { return nil }
        self.init(elements: elements)
    }

    private init(elements: [Element]) { self.elements = elements }

    package var identity: ListIdentity { ListIdentity(elements) }

    package var values: [Value] { elements.map(\.value) }

    package static func == (left: ElementList, right: ElementList) -> Bool {
        left.elements == right.elements
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(elements) }

    // MARK: Finding

    /// The element with an id. O(log n), and O(n) the first time.
    package mutating func element(_ id: ObjectID) -> Element? {
        position(of: id).map { elements[$0] }
    }

    private mutating func position(of id: ObjectID) -> Int? {
        if places == nil {
            stepCount += elements.count
            places = Dictionary(uniqueKeysWithValues: elements.map { ($0.id, $0.place) })
        }
        guard let place = places?[id] else { return nil }
        let position = position(for: Element(id: id, place: place, value: .null))
        return position < elements.count && elements[position].id == id ? position : nil
    }

    /// Where an element belongs.
    private mutating func position(for element: Element) -> Int {
        var (low, high) = (0, elements.count)
        while low < high {
            stepCount += 1
            let middle = (low + high) / 2
            if Element.precedes(elements[middle], element) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Changing

    /// Applies edits; those of elements that are not there have no effect. O(log n) comparisons for each edit, or
    /// O(n + m log m) for m of them where that is less.
    package mutating func apply(_ edits: ListEdits) {
        guard edits.count > 8, edits.count * 8 > elements.count else {
            for (id, outcome) in edits.outcomes { apply(outcome, to: id) }
            return
        }
        var changed: [Element] = []
        stepCount += elements.count + edits.count
        var inserted = edits.outcomes
        elements.removeAll { element in
            guard let outcome = inserted.removeValue(forKey: element.id) else { return false }
            switch outcome {
            case .erased: break
            case .inserted(let place, let value):
                changed.append(Element(id: element.id, place: place, value: value))
            case .changed(let place, let value):
                changed.append(
                    Element(id: element.id, place: place ?? element.place, value: value ?? element.value))
            }
            return true
        }
        for (id, outcome) in inserted {
            if case .inserted(let place, let value) = outcome {
                changed.append(Element(id: id, place: place, value: value))
            }
        }
        changed.sort(by: Element.precedes)
        elements = Self.merged(elements, changed)
        places = nil
    }

    private mutating func apply(_ outcome: ListEdits.Outcome, to id: ObjectID) {
        var element: Element?
        if let position = position(of: id) {
            element = elements.remove(at: position)
            places?[id] = nil
        }
        switch outcome {
        case .erased: return
        case .inserted(let place, let value): element = Element(id: id, place: place, value: value)
        case .changed(let place, let value):
            if let place { element?.place = place }
            if let value { element?.value = value }
        }
        guard let element else { return }
        elements.insert(element, at: position(for: element))
        places?[id] = element.place
    }

    private static func merged(_ left: [Element], _ right: [Element]) -> [Element] {
        var result: [Element] = []
        result.reserveCapacity(left.count + right.count)
        var next = 0
        for element in left {
            while next < right.count, Element.precedes(right[next], element) {
                result.append(right[next])
                next += 1
            }
            result.append(element)
        }
        return result + right[next...]
    }
}
