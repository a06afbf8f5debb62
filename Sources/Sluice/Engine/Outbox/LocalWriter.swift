package import SluiceModel
package import SluiceQuery
package import SluiceViews

/// Applies the operations of one local transaction as they are made, and records them.
package final class LocalWriter {
    private let transaction: any TransactionTarget
    package let schema: Schema
    private let limits: DataLimits
    /// Whether the operations on classes that sync are recorded for upload.
    private let isRecording: Bool
    /// Whether only classes that do not sync can be written.
    private let isReadOnly: Bool
    /// What is recorded.
    private let written = WrittenObjects()
    /// The object that was read last, as long as nothing was written since: an update usually reads its object first.
    private var lastRead: (object: ObjectRef, row: Row?)?
    /// How many times an object was changed, and which was changed last.
    private var changeCount = 0
    private var lastChanged: ObjectRef?
    /// What is known of the classes that were written, by position.
    private var traits: [ClassTraits?]

    /// The operations in order; changes of one object are combined.
    package var operations: [ObjectOperation] { written.operations }

    /// What was created, by column, where that is all that was written; else nil.
    var creations: CreationColumns? { jobs.isEmpty ? written.creations : nil }

    /// Whether nothing was written. O(1).
    var isEmpty: Bool { written.isEmpty && jobs.isEmpty }

    /// Every object that was changed, with its state before the transaction.
    var firstImages: [(object: ObjectRef, old: Row?)] { written.firstImages }

    /// What its author may wait by until the server has it; nil if it was not asked for.
    package private(set) var receipt: WriteReceipt?

    /// What a job changes of what the database keeps of it, together with the operations.
    package var jobs: [JobWrite] = []

    /// Makes the receipt of the transaction, or returns the one that was made.
    func makeReceipt() -> WriteReceipt {
        let receipt = receipt ?? WriteReceipt()
        self.receipt = receipt
        return receipt
    }

    /// Who edits lists.
    private let author: () -> ListEdits.Author

    /// - Parameters:
    ///   - isRecording: whether the operations on classes that sync are recorded for upload.
    ///   - isReadOnly: whether only classes that do not sync can be written.
    ///   - author: called for each list that is edited.
    package init(
        _ transaction: any TransactionTarget, schema: Schema, limits: DataLimits, isRecording: Bool,
        isReadOnly: Bool = false, author: @escaping () -> ListEdits.Author
    ) {
        self.author = author
        self.transaction = transaction
        self.schema = schema
        self.limits = limits
        self.isRecording = isRecording
        self.isReadOnly = isReadOnly
        traits = Array(repeating: nil, count: schema.classes.count)
    }

    /// Reads the object as this transaction sees it; nil if it is not here.
    package func row(_ object: ObjectRef) throws -> Row? {
        if let lastRead, lastRead.object == object { return lastRead.row }
        let row = try transaction.row(object)
        lastRead = (object, row)
        return row
    }

    /// Makes the reader of a query's results as this transaction sees them.
    ///
    /// - Parameter isAlone: whether the store has no server.
    func resultReader(_ query: Query, isAlone: Bool) throws -> ResultReader {
        try transaction.reader.resultReader(query, isAlone: isAlone, written: isAlone ? nil : written)
    }

    /// The results of a query as this transaction sees them, in order and within the limit.
    package func results(of query: Query) throws -> ResultList {
        try resultReader(query, isAlone: false).results()
    }

    /// Calls `body` with each of some results that this transaction has just read, as it is when its turn comes. One that
    /// `body` has deleted meanwhile is left out.
    package func forEach(_ entries: some Sequence<ResultEntry>, _ body: (ObjectRef, Row) throws -> Void) throws {
        var areFresh = true
        for entry in entries {
            if areFresh { lastRead = (entry.object, entry.row) }
            guard let row = try row(entry.object) else { continue }
            let before = changeCount
            try body(entry.object, row)
            // As long as `body` changes the object that it is called with alone, the others are as they were read.
            if changeCount > before { areFresh = areFresh && changeCount == before + 1 && lastChanged == entry.object }
        }
    }

    /// Creates an object.
    ///
    /// - Throws: ``StoreError/Code/objectExists`` if the object is already here.
    package func insert(_ row: Row, ofClass classIndex: Int) throws {
        let object = ObjectRef(classIndex, row.key)
        guard try create(row, object) else {
            throw StoreError(
                .objectExists,
                "\(schema[classIndex].name) has an object with this key already; upsert replaces it, update changes it")
        }
    }

    /// Creates an object, or sets those properties of an existing one whose values differ or are not known here.
    ///
    /// - Parameter present: the properties of `row` to consider.
    package func upsert(_ row: Row, ofClass classIndex: Int, present: PropertySet) throws {
        let object = ObjectRef(classIndex, row.key)
        guard let current = try note(object) else {
            try create(row, object, named: present)
            return
        }
        let fields = present.filter {
            // What a job derives may have been changed elsewhere since it came to be here.
            $0 != schema[classIndex].primaryKeyIndex
                && (!jobs.isEmpty || current.absent.contains($0)
                    || !row.values[$0].isIdentical(to: current.values[$0]))
        }
        // Only values that differ here are recorded; an object that differs nowhere adds nothing to the outbox. What a job
        // derives may also have been deleted elsewhere, unheard, which only a creation undoes.
        let operations = fields.map { FieldOperation($0, .set(row.values[$0])) }
        try update(object, operations, recreating: try !jobs.isEmpty && !transaction.isKeptCurrent(object))
    }

    /// Changes properties of an object.
    ///
    /// - Throws: ``StoreError/Code/objectMissing`` if it is not here.
    package func update(_ object: ObjectRef, _ fields: [FieldOperation]) throws {
        try update(object, fields, recreating: false)
    }

    /// - Parameter recreates: whether the object is made anew where it is not on the server.
    private func update(_ object: ObjectRef, _ fields: [FieldOperation], recreating recreates: Bool) throws {
        guard var row = try note(object) else {
            throw StoreError(
                .objectMissing,
                "\(schema[object.classIndex].name) has no object with this key here to be changed; upsert it, or read it before"
            )
        }
        guard recreates || !fields.isEmpty else { return }
        let old = row
        row.apply(fields)
        let fields = wholeWhereAssigned(fields, object, &row)
        let changed = PropertySet(fields.map(\.property))
        try check(row, object, changed: changed, replacing: old)
        noteChange(of: object)
        try transaction.update(row, of: object, changed: changed, replacing: old, edits: fields.listEdits)
        if records(object) { written.record(fields, of: object, creating: recreates) }
    }

    /// The change that makes another value of a property.
    ///
    /// - Parameter old: the object as it is.
    package func difference(from old: Row, to new: Value, of property: Int) -> FieldOperation {
        FieldOperation(
            property,
            old.absent.contains(property) ? .set(new) : .difference(from: old, to: new, of: property, by: author()))
    }

    /// Edits a list by the positions of its elements.
    ///
    /// - Parameters:
    ///   - edit: the edits of the list as it is; nil if it has to be set as a whole.
    ///   - values: the values afterwards.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here.
    package func edit(
        _ property: Int, of object: ObjectRef, _ edit: (ElementList, ListEdits.Author) -> ListEdits?,
        or values: ([Value]) -> [Value]
    ) throws {
        let row = try row(object)
        if let row, case .list(let old) = row.values[property] {
            let edits = row.absent.contains(property) ? nil : row.list(of: property).flatMap { edit($0, author()) }
            if edits?.isEmpty ?? false { return }
            guard let edits else { return try update(object, [FieldOperation(property, .set(.list(values(old))))]) }
            return try update(object, [FieldOperation(property, .editList(edits))])
        }
        // Says that there is no such object.
        try update(object, [])
    }

    /// The edits of a list as a whole value where this transaction has set the list already: what is set as a whole does
    /// not say what its elements are. Where nothing is recorded, nobody else needs to know.
    private func wholeWhereAssigned(
        _ fields: [FieldOperation], _ object: ObjectRef, _ row: inout Row
    ) -> [FieldOperation] {
        var fields = fields
        for (index, field) in fields.enumerated() {
            guard case .editList = field.change, written.isAssigned(field.property, of: object) else { continue }
            fields[index].change = .set(row.values[field.property])
            row.setIdentity(nil, of: field.property)
        }
        return fields
    }

    /// Deletes an object, here and on the server. An object that is not here is deleted on the server too.
    package func delete(_ object: ObjectRef) throws {
        try checkWritable(object.classIndex)
        let old = try note(object)
        noteChange(of: object)
        try transaction.delete(object, replacing: old)
        if records(object) { written.append(ObjectOperation(object, .delete), at: written.remember(object, as: old)) }
    }

    /// Creates an object.
    ///
    /// - Parameter named: the properties to send; nil for all.
    /// - Returns: false, without an effect, if the object is here.
    @discardableResult
    private func create(_ row: Row, _ object: ObjectRef, named: PropertySet? = nil) throws -> Bool {
        var row = row
        row.version = 0
        row.absent = []
        try check(row, object)
        noteChange(of: object)
        guard try transaction.insert(row, of: object) else { return false }
        guard records(object) else { return true }
        // Defaults are sent too, since the server's schema may have other defaults; but they yield to what others write.
        let traits = traits(of: object.classIndex)
        let (defaults, primaryKey) = (traits.defaults, traits.primaryKey)
        if named == nil,
            written.create(row, ofClass: object.classIndex, defaults: defaults, primaryKey: primaryKey)
        {
            return true
        }
        written.append(
            .creating(row, object, named: named, defaults: defaults, primaryKey: primaryKey),
            at: written.remember(object, as: nil))
        return true
    }

    /// - Parameter changed: the properties whose values are new; nil for all.
    /// - Throws: ``StoreError/Code/objectTooLarge`` or ``StoreError/Code/keyTooLong``.
    private func check(_ row: Row, _ object: ObjectRef, changed: PropertySet? = nil, replacing old: Row? = nil) throws {
        try checkWritable(object.classIndex)
        let traits = traits(of: object.classIndex)
        var excess = limits.excess(of: row.key, in: traits.name)
        for position in traits.links where excess == nil && changed?.contains(position) ?? true {
            excess = limits.excess(
                ofLinksIn: row.values[position],
                in: "\(traits.name).\(schema[object.classIndex].properties[position].name)")
        }
        if let excess = excess ?? limits.excess(of: row, replacing: old, in: traits.name) { throw StoreError(excess) }
    }

    /// Whether operations on an object are recorded for upload.
    private func records(_ object: ObjectRef) -> Bool { isRecording && !traits(of: object.classIndex).isLocal }

    private func checkWritable(_ classIndex: Int) throws {
        guard isReadOnly, !traits(of: classIndex).isLocal else { return }
        throw StoreError.readOnlySync
    }

    private func traits(of classIndex: Int) -> ClassTraits {
        if let known = traits[classIndex] { return known }
        let made = ClassTraits(schema[classIndex])
        traits[classIndex] = made
        return made
    }

    private func noteChange(of object: ObjectRef) {
        lastRead = nil
        changeCount += 1
        lastChanged = object
    }

    private func note(_ object: ObjectRef) throws -> Row? {
        let current = try row(object)
        if records(object) { written.remember(object, as: current) }
        return current
    }
}

extension ObjectOperation {
    /// The creation of an object as it is. Of values that are not named nobody knows whether they were chosen: those that
    /// are the defaults of the class yield to what others write.
    ///
    /// - Parameter named: the properties to set; nil for all.
    static func creating(
        _ row: Row, _ object: ObjectRef, named: PropertySet? = nil, defaults: [Value], primaryKey: Int?
    ) -> ObjectOperation {
        let properties = (named ?? PropertySet(all: row.values.count)).filter { $0 != primaryKey }
        return ObjectOperation(
            object,
            .create(
                properties.map { property in
                    let value = row.values[property]
                    let isDefault = named == nil && defaults[property].isIdentical(to: value)
                    return FieldOperation(property, isDefault ? .setDefault(value) : .set(value))
                }))
    }
}

/// What writing the objects of a class asks of its schema, found out once.
private final class ClassTraits {
    let name: String
    let isLocal: Bool
    let primaryKey: Int?
    let defaults: [Value]
    /// The properties that lead to other objects.
    let links: [Int]

    init(_ declared: ClassSchema) {
        name = declared.name
        isLocal = declared.isLocal
        primaryKey = declared.primaryKeyIndex
        defaults = declared.defaultValues
        links = declared.properties.indices.filter { declared.properties[$0].type.element.isLink }
    }
}
