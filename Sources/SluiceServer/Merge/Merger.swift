package import SluiceModel
package import SluiceStorage

/// Decides what an operation does to the server's state of an object, given what others wrote meanwhile.
///
/// Per property the later (timestamp, client) wins; additions commute and count on top of the assignments before them; a
/// delete beats concurrent updates; creating an object that exists sets what it names. Concurrent means: written after
/// the version that the author knew. An operation that the rules discard is superseded, which is no error.
package struct Merger {
    /// The object after the operation; nil if it does not exist.
    package var row: Row?
    /// The properties that the operations wrote.
    package var written: PropertySet = []
    /// Which of them were written by adding alone, and how much was added; one for each property.
    package var additions: [LogChange.Addition] = []
    /// Operations that the rules discarded.
    package var supersededCount = 0

    private let classSchema: ClassSchema
    /// Whether an operation here deleted or made the object, so that nothing done to it before is concurrent.
    private var isOwn = false

    /// - Parameter row: the object as the server has it; nil if it does not exist.
    package init(_ row: Row?, of classSchema: ClassSchema) {
        self.row = row
        self.classSchema = classSchema
    }

    /// Applies one operation. O(fields) and the cost of what `history` is asked.
    ///
    /// - Parameters:
    ///   - operation: already checked against the schema.
    ///   - author: who wrote it, and when.
    ///   - history: what was done to the object after the version that the author knew, without what was applied here.
    package mutating func apply(_ operation: ObjectOperation, author: WriteStamp, history: ObjectHistory) {
        let history = isOwn ? ObjectHistory() : history
        switch (operation.action, row) {
        case (.delete, _):
            row = nil
            written = []
            additions = []
            isOwn = true
        case (.update, nil):
            supersededCount += 1
        case (.create(let fields), nil):
            // A creation later than the deletion that it did not know of makes the object anew.
            if let deleted = history.deleted, author < deleted {
                supersededCount += 1
                return
            }
            isOwn = true
            let key = operation.object.key
            row = Row(key: key, values: classSchema.defaultValues(for: key))
            for field in fields { apply(field, author: author, history: ObjectHistory()) }
        case (.create(let fields), .some), (.update(let fields), .some):
            for field in fields where field.property != classSchema.primaryKeyIndex {
                apply(field, author: author, history: history)
            }
        }
    }

    private mutating func apply(_ field: FieldOperation, author: WriteStamp, history: ObjectHistory) {
        guard let current = row?.values[field.property] else { return }
        if let assigned = history.latestAssignment(of: field.property), author < assigned {
            supersededCount += 1
            return
        }
        var value = field.change.applied(to: current)
        switch field.change {
        case .set:
            for amount in history.additions(to: field.property, laterThan: author) {
                value = FieldOperation.Change.add(amount).applied(to: value)
            }
            additions.removeAll { $0.property == field.property }
        case .add(let amount):
            if let position = additions.firstIndex(where: { $0.property == field.property }) {
                additions[position].amount = field.change.applied(to: additions[position].amount)
            } else if !written.contains(field.property) {
                additions.append(LogChange.Addition(property: field.property, amount: amount))
            }
        }
        row?.values[field.property] = value
        written.insert(field.property)
    }
}
