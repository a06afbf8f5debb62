extension ListEdits {
    /// What of an element is changed without regard to the rest.
    package enum Part: Sendable {
        case place, value
    }

    /// What of the edits has an effect on a list that nobody has assigned in the meantime.
    ///
    /// - Of two moves of an element the later wins, and so it is with two values that are set.
    /// - What is erased stays erased.
    ///
    /// - Parameter isLatest: whether nobody moved, or set, an element concurrently and later.
    package func effective(
        in list: inout ElementList, where isLatest: (ObjectID, Part) -> Bool
    ) -> ListEdits {
        var effective: [ObjectID: Outcome] = [:]
        for (id, outcome) in outcomes {
            switch outcome {
            case .inserted: effective[id] = outcome
            case .erased where list.element(id) != nil: effective[id] = outcome
            case .changed(let place, let value) where list.element(id) != nil:
                let left = (
                    place.flatMap { isLatest(id, .place) ? $0 : nil }, value.flatMap { isLatest(id, .value) ? $0 : nil }
                )
                if left.0 != nil || left.1 != nil { effective[id] = .changed(left.0, left.1) }
            case .erased, .changed: break
            }
        }
        return ListEdits(effective)
    }
}
