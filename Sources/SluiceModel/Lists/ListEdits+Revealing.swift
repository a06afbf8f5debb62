extension ListEdits {
    /// Edits of a list that was shown as if it had been set as a whole, as edits of its true elements.
    ///
    /// - Parameter elements: the true elements of which the values were shown, in their order.
    /// - Returns: nil if the edits change elements and none of these: they were made of another list.
    /// - Complexity: O(n) for n elements.
    package func revealed(_ elements: [ElementList.Element]) -> ListEdits? {
        let shown = ElementList(elements.map(\.value)).elements
        let known = Dictionary(uniqueKeysWithValues: zip(shown, elements).map { ($0.id, $1.id) })
        var changesElements = false
        var isOfTheseElements = false
        var revealed: [ObjectID: Outcome] = [:]
        for (id, outcome) in outcomes {
            let element = known[id]
            if element != nil { isOfTheseElements = true }
            switch outcome {
            case .erased:
                changesElements = true
                revealed[element ?? id] = .erased
            case .inserted(let place, let value):
                revealed[element ?? id] = .inserted(place.revealed(elements), value)
            case .changed(let place, let value):
                changesElements = true
                revealed[element ?? id] = .changed(place?.revealed(elements), value)
            }
        }
        return isOfTheseElements || !changesElements ? ListEdits(revealed) : nil
    }
}

extension ElementPlace {
    /// A place that was made in a list which was shown as if it had been set as a whole: the place of an element there is
    /// its position.
    fileprivate func revealed(_ elements: [ElementList.Element]) -> ElementPlace {
        guard let first = steps.first, first.time == 0, first.origin == 0, let position = Int(exactly: first.number),
            elements.indices.contains(position)
        else { return self }
        let steps = elements[position].place.steps + steps.dropFirst()
        return steps.count <= Self.stepCountMax ? ElementPlace(steps) : self
    }
}
