/// Computes the effect of an operation on the server's state of an object, considering what others wrote concurrently.
///
/// A delete beats concurrent updates. Creating an object that exists sets the named properties. For each property the
/// rules are in `FieldOperation.merge`. A write is concurrent if it was stored after the version that the author knew.
/// An operation that has no effect by these rules is superseded, which is not an error.
package struct Merger {
    /// The object after the operation; nil if it does not exist.
    package var row: Row?
    /// The properties that the operations wrote.
    package var written: PropertySet = []
    /// The changes of those properties of `written` that were changed in part and not assigned, one for each.
    package var partial: [FieldOperation] = []
    /// The lists among `partial`.
    package var editedLists: PropertySet {
        PropertySet(partial.lazy.filter { if case .editList = $0.change { true } else { false } }.map(\.property))
    }

    /// The number of operations that had no effect by the rules.
    package var supersededCount = 0

    private let template: Template
    /// Whether edits of lists leave the values as they are until `Row.closeLists`.
    private let leavesListsBehind: Bool
    /// Whether an operation of this upload created or deleted the object, so that no earlier write is concurrent.
    private var isOwn = false

    /// What merging needs to know of a class, which the objects of a group share.
    package struct Template {
        package let name: String
        let primaryKeyIndex: Int?
        let defaults: [Value]

        package init(_ classSchema: ClassSchema) {
            name = classSchema.name
            primaryKeyIndex = classSchema.primaryKeyIndex
            defaults = classSchema.defaultValues
        }
    }

    /// - Parameters:
    ///   - row: the server's state of the object; nil if it does not exist.
    ///   - leavesListsBehind: whether edits of lists leave the values of `row` as they are until `Row.closeLists`, for
    ///     many transactions on one list of which nobody looks at the values in between.
    package init(_ row: Row?, of template: Template, leavesListsBehind: Bool = false) {
        self.row = row
        self.leavesListsBehind = leavesListsBehind
        self.template = template
    }

    /// Applies one operation. O(fields), plus the cost of the questions to `history`.
    ///
    /// - Parameters:
    ///   - operation: an operation that was checked against the schema.
    ///   - author: who wrote the operation, and when.
    ///   - history: the changes of the object after the version that the author knew, except those of this upload.
    package mutating func apply(_ operation: ObjectOperation, author: WriteStamp, history: ObjectHistory) {
        let history = isOwn ? ObjectHistory() : history
        switch (operation.action, row) {
        case (.delete, _):
            row = nil
            written = []
            partial = []
            isOwn = true
        case (.update, nil):
            supersededCount += 1
        case (.create(let fields), nil):
            // A creation that did not know of the deletion and is later than it creates the object again.
            if let deleted = history.deleted, author < deleted {
                supersededCount += 1
                return
            }
            isOwn = true
            create(operation.object.key, fields, author: author)
        case (.create(let fields), .some), (.update(let fields), .some):
            for field in fields where field.property != template.primaryKeyIndex {
                apply(field, author: author, history: history)
            }
        }
    }

    /// Sets the value of a property, whatever the operations and the rules have made of it.
    ///
    /// - Parameter former: the value before the operations; if that is what stays, the property was not written.
    package mutating func decide(_ property: Int, _ value: Value, former: Value?) {
        guard row != nil else { return }
        row?.set(value, of: property)
        partial.removeAll { $0.property == property }
        if let former, former.isIdentical(to: value) {
            written.remove(property)
        } else {
            written.insert(property)
        }
    }

    private mutating func create(_ key: ObjectKey, _ fields: [FieldOperation], author: WriteStamp) {
        var values = template.defaults
        if let primaryKeyIndex = template.primaryKeyIndex { values[primaryKeyIndex] = key.value }
        // Most creations assign each property once, and nothing was done to the object before.
        var count = 0
        while count < fields.count, partial.isEmpty, case .set(let value) = fields[count].change {
            values[fields[count].property] = value
            written.insert(fields[count].property)
            count += 1
        }
        row = Row(key: key, values: values)
        for field in fields[count...] { apply(field, author: author, history: ObjectHistory()) }
    }

    private mutating func apply(_ field: FieldOperation, author: WriteStamp, history: ObjectHistory) {
        guard var merged = row else { return }
        // Merged in place: a list may be long.
        row = nil
        defer { row = merged }
        let isAssigned = written.contains(field.property) && !partial.contains { $0.property == field.property }
        // Edits after an assignment of the same upload are edits of what that has made.
        let isOwn = isAssigned && field.yieldsToEarlierWrites
        guard
            let effective = field.merge(
                into: &merged, author: author, history: isOwn ? ObjectHistory() : history, isBehind: leavesListsBehind)
        else {
            supersededCount += 1
            return
        }
        if field.change.isAssignment {
            partial.removeAll { $0.property == field.property }
        } else if case .editList = field.change, isAssigned || self.isOwn {
            // A list that is edited by the transaction that sets it counts as set to the result.
            merged.closeLists()
            merged.setIdentity(nil, of: field.property)
        } else if !isAssigned {
            partial.fold(effective)
        }
        written.insert(field.property)
    }
}
