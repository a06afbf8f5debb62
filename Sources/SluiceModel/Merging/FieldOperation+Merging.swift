extension ObjectOperation {
    /// Whether concurrent writes with an earlier time than the operation's may have precedence over it.
    package var yieldsToEarlierWrites: Bool { fields.contains(where: \.yieldsToEarlierWrites) }
}

extension FieldOperation {
    var yieldsToEarlierWrites: Bool { if case .edit = change { true } else { false } }

    /// The value of the property after this operation, considering what others wrote concurrently, and what of the
    /// operation had an effect; nil if the operation is superseded.
    ///
    /// - Of assignments, the later (timestamp, client) wins.
    /// - Additions commute, and count on top of the assignments before them.
    /// - An assignment or a clearing of a collection beats the edits of others, whatever the times.
    /// - Of two edits of the same element, the later wins; edits of different elements do not meet.
    ///
    /// - Parameters:
    ///   - current: the server's value.
    ///   - history: the changes of the object after the version that the author knew.
    func merged(
        into current: Value, author: WriteStamp, history: ObjectHistory
    ) -> (value: Value, effective: FieldOperation)? {
        var effective = self
        switch change {
        case .set, .clear, .add:
            if let assigned = history.latestAssignment(of: property), author < assigned { return nil }
        case .edit(let edits):
            guard !history.isAssigned(property, byOtherThan: author.clientID) else { return nil }
            let left = edits.filter { name in
                history.latestEdit(of: property, element: name).map { !(author < $0) } ?? true
            }
            guard !left.isEmpty else { return nil }
            effective.change = .edit(left)
        }
        var value = effective.change.applied(to: current)
        if change.isAssignment {
            for amount in history.additions(to: property, laterThan: author) {
                value = Change.add(amount).applied(to: value)
            }
        }
        return (value, effective)
    }
}
