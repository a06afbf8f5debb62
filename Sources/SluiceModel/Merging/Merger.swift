/// Computes the effect of one transaction on the server's state of an object, considering what others wrote concurrently.
///
/// What a transaction does to an object is a deletion of what was there, a creation, and changes after it, each of which
/// it may lack; what comes before its last deletion has no effect (`[ObjectOperation].withoutDeleted`). A write is
/// concurrent if it was stored after the version that the author knew.
///
/// - A deletion undoes the creations of the object that its author knew and those that are earlier; of one that undoes
///   all of them nothing is left. An object that others have created too becomes what it is without the others.
/// - A creation that did not know of a later deletion has no effect. Creating an object that exists sets the named
///   properties, and adds to and edits them.
/// - A change belongs to the creations that its author knew, and has no effect once all of them are undone.
///
/// For each property the rules are in `FieldOperation.merge`. An operation that has no effect by these rules is
/// superseded, which is not an error.
package struct Merger {
    /// The object after the operations; nil if it does not exist.
    package var row: Row?
    /// The properties that the operations wrote, since the last deletion among them.
    package var written: PropertySet = []
    /// The changes of those properties of `written` that were changed in part and not assigned, one for each.
    package var partial: [FieldOperation] = []
    /// Those properties of `written` that got a default, which `partial` may have changed.
    package var defaulted: PropertySet = []
    /// Whether an operation has created the object, or would have if it had not been there.
    package private(set) var creates = false
    /// Whether an operation deletes what others have created before, whatever is left then.
    package private(set) var deletes = false

    /// The number of operations that had no effect by the rules.
    package var supersededCount = 0

    private let template: Template
    /// Whether edits of lists leave the values as they are until `Row.closeLists`.
    private let leavesListsBehind: Bool
    /// Whether an operation of this upload created the object or deleted all of it, so that no earlier write is concurrent.
    private var isOwn = false
    /// What a deletion has left of an object that others have created too.
    private var left: ObjectTrail.Left?
    /// What the author did to the properties, whatever came of it; nil if none of it belongs to the object.
    private var fields: [FieldOperation]?
    /// Whether a creation has met what others have created, of which its author does not know all, so that it must be
    /// remembered what there was before.
    private var remembersFormer = false
    private var isContested = false

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

        /// A field of a creation. A collection whose default is another than that of the class counts as chosen: what
        /// others insert into the one does not fit the other.
        fileprivate func field(_ field: FieldOperation) -> FieldOperation {
            guard case .setDefault(let value) = field.change, value.isCollection,
                !value.isIdentical(to: defaults[field.property])
            else { return field }
            return FieldOperation(field.property, .set(value))
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

    /// Applies one operation. O(fields), plus the cost of the questions to `history`; a deletion that undoes a part of
    /// what the object goes back to costs O(writes since a creation met the object).
    ///
    /// - Parameters:
    ///   - operation: an operation that was checked against the schema.
    ///   - author: who wrote the operation, and when.
    ///   - history: the changes of the object after the version that the author knew, except those of this upload.
    package mutating func apply(_ operation: ObjectOperation, author: WriteStamp, history: ObjectHistory) {
        switch operation.action {
        case .delete: delete(operation.object, author: author, history: history)
        case _ where isOfAnother(operation, by: author, history): supersededCount += 1
        case .create(let fields): create(operation.object.key, fields, author: author, history: history)
        case .update(let fields): change(fields, author: author, history: history)
        }
    }

    /// Whether an operation has no effect on the object that is there: a change of which nothing is left that its author
    /// knew, a creation, if others have deleted the object later, and a deletion, if all that is there is later.
    ///
    /// - Parameter history: the changes of the object after the version that the author knew, except those of this upload.
    package func isOfAnother(_ operation: ObjectOperation, by author: WriteStamp, _ history: ObjectHistory) -> Bool {
        guard !creates else { return false }
        switch operation.action {
        case .create: return (left?.deletion ?? history.latestDeletion).map { author < $0 } ?? false
        case .update: return row == nil || !isOwn && !current(history).belongs(to: author.clientID)
        case .delete: return row != nil && !isOwn && history.verdict(on: author) == .none
        }
    }

    /// The history of what is there.
    private func current(_ history: ObjectHistory) -> ObjectHistory {
        if isOwn { return ObjectHistory() }
        return left.map { history.replaced(by: $0.trail) } ?? history
    }

    private mutating func delete(_ object: ObjectRef, author: WriteStamp, history: ObjectHistory) {
        deletes = true
        creates = false
        fields = nil
        written = []
        partial = []
        defaulted = []
        guard row != nil else { return }
        switch isOwn ? Lineages.Verdict.all : history.verdict(on: author) {
        case .all:
            row = nil
            isOwn = true
        case .part:
            guard let left = history.left(by: author, of: object, template) else {
                supersededCount += 1
                return
            }
            row = left.row
            // An earlier deletion that could not be carried out then may undo what this one spares.
            if row == nil { isOwn = true } else { self.left = left }
        case .none: supersededCount += 1
        }
    }

    private mutating func create(
        _ key: ObjectKey, _ fields: [FieldOperation], author: WriteStamp, history: ObjectHistory
    ) {
        guard row != nil else {
            isOwn = true
            creates = true
            return create(key, fields, author: author)
        }
        let history = current(history)
        let isFirst = !creates
        if isFirst, !isOwn {
            remembersFormer = history.isToBeKept(from: author.clientID)
            isContested = history.isContested
        }
        creates = true
        merge(fields, author: author, history: history, takesDefaults: isFirst)
    }

    private mutating func change(_ fields: [FieldOperation], author: WriteStamp, history: ObjectHistory) {
        let history = current(history)
        isContested = isContested || history.isContested
        merge(fields, author: author, history: history, takesDefaults: false)
    }

    /// - Parameter takesDefaults: whether the operation is the first of its transaction that creates the object. To all
    ///   others, the object has values already.
    private mutating func merge(
        _ fields: [FieldOperation], author: WriteStamp, history: ObjectHistory, takesDefaults: Bool
    ) {
        if !isOwn {
            let kept = takesDefaults ? fields : fields.filter { !template.field($0).isDefault }
            self.fields = (self.fields ?? []) + kept
        }
        for field in fields where field.property != template.primaryKeyIndex {
            let field = template.field(field)
            if !takesDefaults, field.isDefault {
                supersededCount += 1
            } else {
                apply(field, author: author, history: history)
            }
        }
    }

    /// What the operations did, as trails note it.
    ///
    /// - Parameters:
    ///   - old: the object before them.
    ///   - base: the version that their author knew.
    ///   - isLineaged: whether the object may have more than one creation.
    /// - Returns: nil if nothing has come of them that others would have to consider.
    package func note(
        by author: WriteStamp, replacing old: Row?, base: UInt64, isLineaged: Bool
    ) -> WriteNote? {
        func note(_ kind: WriteKind, written: PropertySet, _ lineage: WriteLineage? = nil) -> WriteNote {
            WriteNote(
                kind, written: written, defaulted: defaulted, partial: partial, creates: creates && kind == .update,
                deletes: deletes, lineage: lineage)
        }
        var origin: WriteLineage.Origin? { fields.map { .init(base: base, fields: $0) } }
        switch (old, row) {
        case (nil, nil): return deletes ? WriteNote(.delete, deletes: true) : nil
        case (nil, _?): return note(.create, written: written)
        case (_?, nil): return WriteNote(.delete)
        case (let old?, let row?):
            guard !isBegunAnew else { return WriteNote(.update, deletes: true, lineage: rest(author, origin)) }
            let written = row.differences(from: old, besides: self.written)
            let isRemembered = creates || fields != nil && isLineaged
            guard !written.isEmpty || creates || deletes || isContested && isRemembered else { return nil }
            guard isRemembered else { return note(.update, written: written) }
            let former = remembersFormer ? old.withClosedLists : nil
            return note(.update, written: written, WriteLineage(origin: origin, former: former))
        }
    }

    /// Whether the object is another one since, or a part of what it was.
    package var isBegunAnew: Bool { deletes && row != nil && (isOwn || left != nil) }

    /// Whether a deletion has left something, and no operation since has created it.
    package var isLeft: Bool { deletes && row != nil && !creates }

    /// What the deletion has left, followed by what the operations did then.
    private func rest(_ author: WriteStamp, _ origin: WriteLineage.Origin?) -> WriteLineage {
        var rest = left?.rest ?? .init(keepsFormer: false, writes: [])
        var own = WriteNote(.create, written: written, defaulted: defaulted, partial: partial)
        if let origin {
            own.kind = .update
            own.creates = creates
            own.lineage = WriteLineage(origin: origin, former: remembersFormer ? left?.row : nil)
        }
        if isOwn || origin != nil { rest.writes.append(.init(own, author)) }
        return WriteLineage(rest: rest)
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
            switch template.field(fields[count]).change {
            case .set(let value):
                values[property] = value
                defaulted.remove(property)
            case .setDefault(let value) where !written.contains(property):
                values[property] = value
                defaulted.insert(property)
            case .setDefault, .clear, .add, .edit, .editList: break assigning
            }
            written.insert(property)
            count += 1
        }
        row = Row(key: key, values: values)
        for field in fields[count...].map(template.field) {
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
        // A default is beneath what the same creation does to the property, in whichever order.
        if field.isDefault, written.contains(field.property) {
            supersededCount += 1
            return
        }
        let isAssigned =
            written.contains(field.property) && !defaulted.contains(field.property)
            && !partial.contains { $0.property == field.property }
        // Edits after an assignment of the same upload are edits of what that has made.
        let isOwn = isAssigned && field.yieldsToEarlierWrites
        guard
            let effective = field.merge(
                into: &merged, author: author, history: isOwn ? ObjectHistory() : history, isBehind: leavesListsBehind)
        else {
            supersededCount += 1
            return
        }
        switch field.change {
        case .set, .clear:
            defaulted.remove(field.property)
            partial.removeAll { $0.property == field.property }
        case .setDefault:
            defaulted.insert(field.property)
            partial.removeAll { $0.property == field.property }
            // The default of a list that is there changes nothing, and least of all what its elements are.
            if case .list = merged.values[field.property] {
                partial.append(FieldOperation(field.property, .editList(ListEdits())))
            }
        case .editList where isAssigned:
            // A list that is edited by the transaction that sets it counts as set to the result.
            merged.closeLists()
            merged.setIdentity(nil, of: field.property)
        case .add, .edit, .editList: if !isAssigned { partial.fold(effective) }
        }
        written.insert(field.property)
    }
}
