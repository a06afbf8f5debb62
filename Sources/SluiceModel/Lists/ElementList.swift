/// A list whose elements have hidden ids and places, so that operations name elements and not positions.
///
/// A copy shares what is not changed, so it is cheap to keep a list as it was while it is edited.
package struct ElementList: Sendable {
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

    /// What an edit does to positions, each as the steps before leave the list.
    package enum Step {
        /// - Parameter before: the element that follows then; nil at the end.
        case removed(at: Int, before: ObjectID?)
        /// - Parameter before: the element that follows; nil at the end.
        case inserted(Element, at: Int, before: ObjectID?)
        case set(Value, at: Int)
    }

    /// The elements in their order.
    private var chunks: SharedChunks<Element>
    /// Where each element is, in the order of ids; nil until somebody asks.
    private var places: SharedChunks<(id: ObjectID, place: ElementPlace)>?
    /// How many elements were compared, for tests of how the work grows.
    package private(set) var stepCount = 0
    /// The most that the values take in messages with their identity, as far as that is known without a look at all.
    private(set) var sizeMax = DataSize()

    /// A list that was set as a whole. Its elements are known by what all the values are, and by their positions.
    package init(_ values: [Value]) {
        let fingerprint = values.isEmpty ? 0 : ListFingerprint(values).number
        self.init(
            elements: values.enumerated().map { index, value in
                Element(
                    id: ObjectID(high: fingerprint, low: UInt64(index)), place: ElementPlace(index: index), value: value
                )
            })
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
        guard isAscending, identity.namesEachOnce else { return nil }
        self.init(elements: elements)
    }

    private init(elements: [Element]) {
        chunks = SharedChunks(elements)
        for element in elements { sizeMax += element.sizeMax }
    }

    package var identity: ListIdentity { ListIdentity(chunks) }

    /// Takes O(n) to make.
    package var elements: [Element] { chunks.elements }

    package var values: [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        chunks.forEach { values.append($0.value) }
        return values
    }

    package var count: Int { chunks.count }

    package var isEmpty: Bool { chunks.count == 0 }

    /// The element at a position. O(log n).
    package subscript(position: Int) -> Element { chunks[position] }

    // MARK: Finding

    /// The element with an id. O(log n), and O(n log n) the first time.
    package mutating func element(_ id: ObjectID) -> Element? {
        position(of: id).map { chunks[$0] }
    }

    /// The position of the element with an id. O(log n), and O(n log n) the first time.
    package mutating func position(of id: ObjectID) -> Int? {
        makePlaces()
        let index = knownIndex(of: id)
        guard let places, index < places.count, places[index].id == id else { return nil }
        let position = position(for: Element(id: id, place: places[index].place, value: .null))
        return position < chunks.count && chunks[position].id == id ? position : nil
    }

    private mutating func makePlaces() {
        guard places == nil else { return }
        stepCount += chunks.count
        var known: [(id: ObjectID, place: ElementPlace)] = []
        known.reserveCapacity(chunks.count)
        var isAscending = true
        chunks.forEach { element in
            if let last = known.last, !(last.id < element.id) { isAscending = false }
            known.append((element.id, element.place))
        }
        if !isAscending { known.sort { $0.id < $1.id } }
        places = SharedChunks(known)
    }

    private func knownIndex(of id: ObjectID) -> Int { places?.firstIndex { !($0.id < id) } ?? 0 }

    /// Where an element belongs.
    private mutating func position(for element: Element) -> Int {
        var steps = 0
        let position = chunks.firstIndex {
            steps += 1
            return !Element.precedes($0, element)
        }
        stepCount += steps
        return position
    }

    // MARK: Changing

    /// Applies edits; those of elements that are not there have no effect. O(log n) comparisons for each edit, or
    /// O(n + m log m) for m of them where that is less.
    package mutating func apply(_ edits: ListEdits) {
        if edits.areMany(in: count) { applyTogether(edits) } else { apply(edits) { _ in } }
    }

    /// Applies edits to the list and to an array of its values.
    package mutating func apply(_ edits: ListEdits, to values: inout [Value]) {
        if edits.areMany(in: count) {
            applyTogether(edits)
            values = self.values
        } else {
            apply(edits) { values.apply($0) }
        }
    }

    private mutating func apply(_ edits: ListEdits, note: (Step) throws -> Void) rethrows {
        for (id, outcome) in edits.outcomes { try apply(outcome, to: id, note: note) }
    }

    /// Does something to one element, and calls `note` with each step. O(log n) comparisons.
    package mutating func apply(
        _ outcome: ListEdits.Outcome, to id: ObjectID, note: (Step) throws -> Void
    ) rethrows {
        let position = position(of: id)
        let old = position.map { chunks[$0] }
        var new = old
        switch outcome {
        case .erased: new = nil
        case .inserted(let place, let value): new = Element(id: id, place: place, value: value)
        case .changed(let place, let value):
            if let place { new?.place = place }
            if let value { new?.value = value }
        }
        if let old { sizeMax = sizeMax - old.sizeMax }
        if let new { sizeMax += new.sizeMax }
        if let position, let old, let new, old.place == new.place {
            guard !old.value.isIdentical(to: new.value) else { return }
            chunks[position] = new
            return try note(.set(new.value, at: position))
        }
        if let position {
            chunks.remove(at: position)
            let index = knownIndex(of: id)
            if new == nil { places?.remove(at: index) }
            try note(.removed(at: position, before: position < count ? chunks[position].id : nil))
        }
        guard let new else { return }
        let index = knownIndex(of: id)
        if old == nil { places?.insert((id, new.place), at: index) } else { places?[index].place = new.place }
        let destination = self.position(for: new)
        chunks.insert(new, at: destination)
        let next = destination + 1 < count ? chunks[destination + 1].id : nil
        try note(.inserted(new, at: destination, before: next))
    }

    private mutating func applyTogether(_ edits: ListEdits) {
        var changed: [Element] = []
        stepCount += chunks.count + edits.count
        var inserted = edits.outcomes
        let left = chunks.elements.filter { element in
            guard let outcome = inserted.removeValue(forKey: element.id) else { return true }
            switch outcome {
            case .erased: break
            case .inserted(let place, let value):
                changed.append(Element(id: element.id, place: place, value: value))
            case .changed(let place, let value):
                changed.append(
                    Element(id: element.id, place: place ?? element.place, value: value ?? element.value))
            }
            return false
        }
        for (id, outcome) in inserted {
            if case .inserted(let place, let value) = outcome {
                changed.append(Element(id: id, place: place, value: value))
            }
        }
        changed.sort(by: Element.precedes)
        let former = stepCount
        self = ElementList(elements: Self.merged(left, changed))
        stepCount = former
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

    // MARK: Comparing

    /// Whether another list has the same elements at the same places, whatever their values.
    func hasSameIdentity(as other: ElementList) -> Bool {
        chunks.isEqual(to: other.chunks) { $0.id == $1.id && $0.place == $1.place }
    }

    /// What differs from another list: the elements between those that both have at the beginning and at the end.
    func difference(from other: ElementList) -> (old: [Element], new: [Element]) {
        let start = chunks.sharedPrefixCount(with: other.chunks)
        let end = chunks.sharedSuffixCount(with: other.chunks, after: start)
        var (old, new) = (other.chunks.elements[start..<(other.count - end)], elements[start..<(count - end)])
        while let left = old.first, let right = new.first, left.isIdentical(to: right) {
            old.removeFirst()
            new.removeFirst()
        }
        while let left = old.last, let right = new.last, left.isIdentical(to: right) {
            old.removeLast()
            new.removeLast()
        }
        return (Array(old), Array(new))
    }
}

extension ElementList: Hashable {
    package static func == (left: ElementList, right: ElementList) -> Bool {
        left.chunks.isEqual(to: right.chunks, by: ==)
    }

    package func hash(into hasher: inout Hasher) { chunks.forEach { hasher.combine($0) } }
}

extension ElementList.Element {
    /// The most that the element takes in messages, with its id and place.
    fileprivate var sizeMax: DataSize {
        value.dataSize + DataSize(byteCount: 1 + ListIdentity.Run.byteCountMax(stepCount: place.steps.count))
    }
}

extension ListEdits {
    /// Whether it takes less to make a list of a size anew than to apply the edits one by one.
    fileprivate func areMany(in count: Int) -> Bool { self.count > 8 && self.count * 8 > count }
}

extension [Value] {
    /// Does to the values of a list what was done to the list.
    mutating func apply(_ step: ElementList.Step) {
        switch step {
        case .removed(let position, _): remove(at: position)
        case .inserted(let element, let position, _): insert(element.value, at: position)
        case .set(let value, let position): self[position] = value
        }
    }
}
