extension ObjectOperation {
    /// Whether concurrent writes with an earlier time than the operation's may have precedence over it.
    package var yieldsToEarlierWrites: Bool { fields.contains(where: \.yieldsToEarlierWrites) }
}

extension FieldOperation {
    var yieldsToEarlierWrites: Bool {
        switch change {
        case .edit, .editList: true
        case .set, .add, .clear: false
        }
    }

    /// Applies this operation to the server's object, considering what others wrote to the property concurrently.
    ///
    /// - Of assignments, the later (timestamp, client) wins.
    /// - Additions commute, and count on top of the assignments before them.
    /// - An assignment or a clearing of a collection beats the edits of others, whatever the times.
    /// - Of two edits of the same element, the later wins; edits of different elements do not meet. An element of a list
    ///   is moved and set independently, and what is erased stays erased.
    ///
    /// - Parameters:
    ///   - row: the server's object.
    ///   - history: the changes of the object after the version that the author knew.
    /// - Returns: what of the operation had an effect; nil if it is superseded.
    func merge(into row: inout Row, author: WriteStamp, history: ObjectHistory) -> FieldOperation? {
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
        case .editList(let edits):
            guard var list = row.list(of: property),
                let left = edits.merge(into: &list, of: property, author: author, history: history)
            else { return nil }
            row.set(list, of: property)
            effective.change = .editList(left)
            return effective
        }
        row.apply(effective)
        if change.isAssignment {
            for amount in history.additions(to: property, laterThan: author) {
                row.apply(FieldOperation(property, .add(amount)))
            }
        }
        return effective
    }
}

extension ListEdits {
    /// Applies the edits to the server's list, considering what others did to it concurrently.
    ///
    /// - Parameters:
    ///   - list: the server's list, which is the value of a property.
    ///   - history: the changes of the object after the version that the author knew.
    /// - Returns: what of the edits had an effect; nil if nothing.
    package func merge(
        into list: inout ElementList, of property: Int, author: WriteStamp, history: ObjectHistory
    ) -> ListEdits? {
        guard !history.isAssigned(property, byOtherThan: author.clientID) else { return nil }
        let left = effective(in: &list) { id, part in
            history.latestEdit(of: property, element: id, part).map { !(author < $0) } ?? true
        }
        guard !left.isEmpty else { return nil }
        list.apply(left)
        return left
    }
}
