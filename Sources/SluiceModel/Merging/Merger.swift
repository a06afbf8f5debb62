/// Computes the effect of an operation on the server's state of an object, considering what others wrote concurrently.
///
/// A delete beats concurrent updates, also of an object that was created again since. Of a delete and a creation that
/// did not know of each other the later counts. Creating an object that exists sets the named properties. For each
/// property the rules are in `FieldOperation.merge`. A write is concurrent if it was stored after the version that the author knew.
/// An operation that has no effect by these rules is superseded, which is not an error.
package struct Merger {
    /// The object after the operation; nil if it does not exist.
    package var row: Row?
    /// The properties that the operations wrote.
    package var written: PropertySet = []
    /// The changes of those properties of `written` that were changed in part and not assigned, one for each.
    package var partial: [FieldOperation] = []
    /// Those properties of `written` that got a default, and no more.
    package var defaulted: PropertySet = []
    /// The lists among `partial`.
    package var editedLists: PropertySet {
        PropertySet(partial.lazy.filter { if case .editList = $0.change { true } else { false } }.map(\.property))
    }

    /// Whether an operation has created the object, or would have if it had not been there.
    package private(set) var creates = false

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
        case (.delete, nil): break
        case _ where isOfAnother(operation, by: author, history): supersededCount += 1
        case (.delete, .some):
            row = nil
            written = []
            partial = []
            defaulted = []
            creates = false
            isOwn = true
        case (.update, nil):
            supersededCount += 1
        case (.create(let fields), nil):
            // A creation that did not know of the deletion and is later than it creates the object again.
            if let deleted = history.deleted, author < deleted {
                supersededCount += 1
                return
            }
            // Who deletes an object and creates it again has chosen what it is.
            let countsDefaults = !isOwn
            isOwn = true
            creates = true
            create(operation.object.key, fields, author: author)
            if !countsDefaults { defaulted = [] }
        case (.create(let fields), .some), (.update(let fields), .some):
            if case .create = operation.action { creates = true }
            for field in fields where field.property != template.primaryKeyIndex {
                apply(field, author: author, history: history)
            }
        }
    }

    /// Whether an operation was meant for an object with the same key that is there no more: an update, if others have
    /// deleted and created the object since, a creation, if others have deleted the object later and created it again,
    /// and a delete, if others have created it later.
    ///
    /// - Parameter history: the changes of the object after the version that the author knew, except those of this upload.
    package func isOfAnother(_ operation: ObjectOperation, by author: WriteStamp, _ history: ObjectHistory) -> Bool {
        guard row != nil, !isOwn, !creates else { return false }
        return switch operation.action {
        case .create: history.lastDeletion.map { author < $0 } ?? false
        case .update: history.isReborn(for: author.clientID)
        case .delete: history.latestCreation.map { author < $0 } ?? false
        }
    }

    /// Sets the value of a property, whatever the operations and the rules have made of it. If that is the value already,
    /// nothing is decided: what was edited stays edited, and leaves the edits of others in force.
    ///
    /// - Parameter former: the value before the operations; if that is what stays, the property was not written.
    package mutating func decide(_ property: Int, _ value: Value, former: Value?) {
        guard let present = row?.values[property], !present.isIdentical(to: value) else { return }
        row?.set(value, of: property)
        partial.removeAll { $0.property == property }
        defaulted.remove(property)
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
        assigning: while count < fields.count, partial.isEmpty {
            let property = fields[count].property
            switch fields[count].change {
            case .set(let value):
                values[property] = value
                defaulted.remove(property)
            case .setDefault(let value) where !written.contains(property):
                values[property] = value
                defaulted.insert(property)
            default: break assigning
            }
            written.insert(property)
            count += 1
        }
        row = Row(key: key, values: values)
        for field in fields[count...] {
            if case .setDefault(let value) = field.change, !written.contains(field.property) {
                row?.set(value, of: field.property)
                written.insert(field.property)
                defaulted.insert(field.property)
            } else {
                apply(field, author: author, history: ObjectHistory())
            }
        }
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
        if case .setDefault = field.change {
            defaulted.insert(field.property)
        } else {
            // What is changed is no default any more.
            defaulted.remove(field.property)
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
