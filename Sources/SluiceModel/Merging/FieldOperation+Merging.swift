extension ObjectOperation {
    /// Whether concurrent writes with an earlier time than the operation's may have precedence over it.
    package var yieldsToEarlierWrites: Bool { fields.contains(where: \.yieldsToEarlierWrites) }
}

extension FieldOperation {
    /// Whether it gives a new object a value that nobody has chosen.
    var isDefault: Bool { if case .setDefault = change { true } else { false } }

    var yieldsToEarlierWrites: Bool {
        switch change {
        case .edit, .editList, .setDefault: true
        case .set, .add, .clear: false
        }
    }

    /// Applies this operation to the server's object, considering what others wrote to the property concurrently.
    ///
    /// - Of assignments, the later (timestamp, client) wins.
    /// - A default is what a new object has beneath everything that was written, whatever the times; of two defaults that
    ///   did not know of each other, the later is.
    /// - Additions commute, and count on top of the assignments before them, and of a default at any time.
    /// - An assignment or a clearing of a collection beats the edits of others, whatever the times.
    /// - Of two edits of the same element, the later wins; edits of different elements do not meet. An element of a list
    ///   is moved and set independently, and what is erased stays erased.
    ///
    /// - Parameters:
    ///   - row: the server's object.
    ///   - history: the changes of the object after the version that the author knew.
    ///   - isBehind: whether edits of lists leave the values as they are until `Row.closeLists`.
    /// - Returns: what of the operation had an effect; nil if it is superseded.
    func merge(
        into row: inout Row, author: WriteStamp, history: ObjectHistory, isBehind: Bool
    ) -> FieldOperation? {
        var effective = self
        switch change {
        case .set, .clear, .add:
            if let assigned = history.latestAssignment(of: property), author < assigned { return nil }
        case .setDefault:
            guard history.isNew(to: author.clientID), history.latestAssignment(of: property) == nil else { return nil }
            if let other = history.latestDefault(of: property), author < other { return nil }
            // The default of a collection is that of its class, and beneath what was edited already.
            if row.values[property].isCollection { return effective }
        case .edit(let edits):
            guard !history.isAssigned(property, byOtherThan: author.clientID) else { return nil }
            let left = edits.filter { name in
                history.latestEdit(of: property, element: name).map { !(author < $0) } ?? true
            }
            guard !left.isEmpty else { return nil }
            effective.change = .edit(left)
        case .editList(let edits):
            let left = row.edit(property, isBehind: isBehind) { list in
                edits.effective(in: &list, of: property, author: author, history: history)
            }
            guard let left else { return nil }
            effective.change = .editList(left)
            return effective
        }
        row.apply(effective)
        if change.isAssignment {
            for amount in history.additions(to: property, laterThan: isDefault ? nil : author) {
                row.apply(FieldOperation(property, .add(amount)))
            }
        }
        return effective
    }
}

extension ListEdits {
    /// Which of the edits have an effect on the server's list, considering what others did to it concurrently.
    ///
    /// - Parameters:
    ///   - list: the server's list, which is the value of a property.
    ///   - history: the changes of the object after the version that the author knew.
    /// - Returns: what of the edits has an effect; nil if nothing.
    package func effective(
        in list: inout ElementList, of property: Int, author: WriteStamp, history: ObjectHistory
    ) -> ListEdits? {
        guard !history.isAssigned(property, byOtherThan: author.clientID) else { return nil }
        let left = effective(in: &list) { id, part in
            history.latestEdit(of: property, element: id, part).map { !(author < $0) } ?? true
        }
        return left.isEmpty ? nil : left
    }
}
