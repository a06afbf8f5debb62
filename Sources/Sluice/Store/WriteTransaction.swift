public import SluiceModel

/// A write transaction. Its reads see the writes that it has made so far.
public struct WriteTransaction: ~Copyable {
    package let writer: LocalWriter
    /// The store; nil in a transaction of something else.
    let hold: StoreLease?
    /// What is written to, and how results that are made in this transaction are read.
    let scope: any ResultScope
    private let recent = RecentBinding()

    /// - Parameter hold: the store; nil for a transaction of something else.
    package init(writer: LocalWriter, hold: StoreLease? = nil, scope: any ResultScope) {
        self.writer = writer
        self.hold = hold
        self.scope = scope
    }

    /// What to wait by until the server has this write, when its body has returned: ``Store/uploaded(_:timeout:)``.
    ///
    /// ```swift
    /// let receipt = try await store.write { transaction in
    ///     try transaction.insert(order)
    ///     return transaction.receipt
    /// }
    /// try await store.uploaded(receipt, timeout: .seconds(10))  // or throws why the server rejects it
    /// ```
    ///
    /// Of a write to a database of a server in this process there is nothing to wait for: the server has it when the
    /// write returns.
    public var receipt: WriteReceipt { writer.makeReceipt() }

    // MARK: Models and records

    /// Adds a new object.
    ///
    /// - Parameter object: a model, or a record of a class of this store.
    /// - Throws: ``StoreError/Code/objectExists`` if an object with its key is already here; `RecordError` or
    ///   ``ModelError`` when it does not fit the store's schema.
    public func insert<Element: ResultElement>(_ object: Element) throws {
        let (row, classIndex) = try encoded(object)
        try writer.insert(row, ofClass: classIndex)
        recent.values = row.values
    }

    /// Inserts an object, or sets the properties of the object with its key.
    ///
    /// For an existing object, only the properties whose values differ from those in this store are written. A write
    /// that changes nothing here does not compete with concurrent writes of others. Properties that are missing from a
    /// value, because a query excluded them when it was read, stay as they are.
    ///
    /// - Parameter object: a model, or a record of a class of this store.
    /// - Throws: `RecordError` or ``ModelError`` when it does not fit the store's schema.
    public func upsert<Element: ResultElement>(_ object: Element) throws {
        let (row, classIndex) = try encoded(object)
        let all = PropertySet(all: row.values.count)
        try writer.upsert(row, ofClass: classIndex, present: all.subtracting(row.absent))
    }

    /// Changes an object. `body` receives its current value; the transaction records the properties that `body`
    /// changes. Of a collection it records which elements or entries `body` has inserted, changed, moved or erased, so
    /// what others change in it at the same time counts too; one from which `body` takes all of several elements is
    /// emptied. Of a list that is the shortest difference between the two, in which equal elements count as the same.
    ///
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` if `body` changes the
    ///   primary key, or a collection that is not here since a query excludes it; what `body` throws.
    public func update<Element: Model>(_ object: Element, _ body: (inout Element) throws -> Void) throws {
        try update(object.objectKey, body)
    }

    /// Changes the object with a primary key, as ``update(_:_:)`` does.
    ///
    /// - Throws: as ``update(_:_:)``; `RecordError` when the class's keys are of another type.
    public func update<Element: Model>(
        _ type: Element.Type, key: some PrimaryKeyValue, _ body: (inout Element) throws -> Void
    ) throws {
        try update(try Element.objectKey(key), body)
    }

    private func update<Element: Model>(_ key: ObjectKey, _ body: (inout Element) throws -> Void) throws {
        let binding = try scope.binding(of: Element.self, classIndex: try scope.classIndex(of: Element.className))
        let reference = ObjectRef(binding.classIndex, key)
        guard let before = try writer.row(reference) else { throw missing(Element.className) }
        try update(reference, before, binding, body)
    }

    /// Records what `body` changes of an object.
    ///
    /// - Parameter before: the object as it is.
    func update<Element: Model>(
        _ reference: ObjectRef, _ before: Row, _ binding: ElementBinding, _ body: (inout Element) throws -> Void
    ) throws {
        var value = try Element.decode(before, binding)
        try body(&value)
        let after = try value.encoded(for: binding)
        let fields = try after.values.indices.compactMap { property -> FieldOperation? in
            guard !after.absent.contains(property), !after.values[property].isIdentical(to: before.values[property])
            else { return nil }
            // Links know by themselves whether they were changed or given a new value.
            if before.absent.contains(property), !binding.classSchema.properties[property].type.element.isLink {
                try Self.checkPresent(property, of: before, binding.classSchema)
            }
            return writer.difference(from: before, to: after.values[property], of: property)
        }
        guard !fields.contains(where: { $0.property == binding.classSchema.primaryKeyIndex }) else {
            throw RecordError(
                .missingPrimaryKey,
                "the primary key of a \(Element.className) cannot change; delete it and insert another")
        }
        try writer.update(reference, fields)
    }

    /// Checks that the elements of a collection are here, so that changing some of them does not replace the others.
    static func checkPresent(_ property: Int, of row: Row, _ classSchema: ClassSchema) throws {
        let declared = classSchema.properties[property]
        guard row.absent.contains(property), declared.type.isCollection else { return }
        throw RecordError(
            .excluded,
            "\(classSchema.name).\(declared.name) is not here, since a query excludes it, so its elements cannot be "
                + "changed; read the object without the exclusion, or set the whole value by name")
    }

    /// Adds an amount to a number. Additions that others make at the same time are added up, and none is lost.
    ///
    /// - Parameters:
    ///   - object: names the object; its property values are not used.
    ///   - property: the number.
    ///   - amount: may be negative. The sum of integers wraps around on overflow.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when the key path does not
    ///   lead to a stored number of the class.
    public func increment<Element: Model, Number: PropertyValue & Numeric>(
        _ object: Element, _ property: KeyPath<Element, Number>, by amount: Number
    ) throws {
        try update(object.identity, add: [try name(of: property): amount.propertyValue])
    }

    /// Adds an amount to a number that may be null, as ``increment(_:_:by:)-(_,KeyPath<Element,Number>,_)`` does.
    ///
    /// Null has no sum: an addition to it throws, and one that meets null elsewhere, since somebody has set it at the same
    /// time, leaves it null.
    ///
    /// - Parameters:
    ///   - object: names the object; its property values are not used.
    ///   - property: the number.
    ///   - amount: may be negative. The sum of integers wraps around on overflow.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when the key path does not
    ///   lead to a stored number of the class, or when the number is null here.
    public func increment<Element: Model, Number: PropertyElement & Numeric>(
        _ object: Element, _ property: KeyPath<Element, Number?>, by amount: Number
    ) throws {
        try update(object.identity, add: [try name(of: property): amount.propertyValue])
    }

    /// Deletes an object, here and on the server. An object that is not here is deleted on the server too.
    ///
    /// - Parameter object: names the object; its property values are not used.
    public func delete<Element: ResultElement>(_ object: Element) throws {
        let (row, classIndex) = try encoded(object)
        try writer.delete(ObjectRef(classIndex, row.key))
    }

    /// Deletes the object with a primary key, here and on the server.
    public func delete<Element: Model>(_ type: Element.Type, key: some PrimaryKeyValue) throws {
        try delete(Identity(className: Element.className, key: try Element.objectKey(key)))
    }

    /// Deletes the object with a key, as an event or a batch names it, here and on the server.
    public func delete<Element: Model>(_ type: Element.Type, key: ObjectKey) throws {
        try delete(Identity(className: Element.className, key: key))
    }

    /// Reads the object with a primary key as this transaction sees it; nil if it is not here.
    public func object<Element: Model>(_ type: Element.Type, key: some PrimaryKeyValue) throws -> Element? {
        let binding = try scope.binding(of: type, classIndex: try scope.classIndex(of: Element.className))
        return try writer.row(ObjectRef(binding.classIndex, try Element.objectKey(key))).map {
            try Element.decode($0, binding)
        }
    }

    // MARK: By identity

    /// Changes properties of an object by name.
    ///
    /// - Parameters:
    ///   - object: the class and key of the object.
    ///   - set: new values.
    ///   - add: amounts to add to numbers.
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when a value does not fit its
    ///   property, or when a number to add to is null here.
    public func update(_ object: Identity, set: [String: Value] = [:], add: [String: Value] = [:]) throws {
        let (reference, classSchema) = try reference(object)
        let fields = try Self.fields(of: classSchema, key: object.key, set: set, add: add)
        if classSchema.properties.contains(where: \.type.isOptional), !add.isEmpty {
            try checkNumbers(fields, of: reference, classSchema)
        }
        try writer.update(reference, fields)
    }

    /// Checks that no amount is added to null.
    private func checkNumbers(_ fields: [FieldOperation], of object: ObjectRef, _ classSchema: ClassSchema) throws {
        guard let row = try writer.row(object) else { throw missing(classSchema.name) }
        let set = PropertySet(fields.compactMap { if case .set = $0.change { $0.property } else { nil } })
        for field in fields {
            guard case .add = field.change, !set.contains(field.property), !row.absent.contains(field.property),
                row.values[field.property].isNull
            else { continue }
            throw RecordError(
                .typeMismatch,
                "\(classSchema.name).\(classSchema.properties[field.property].name) is null here, and null has no sum; set a "
                    + "number first")
        }
    }

    /// Changes single elements of a set, or single entries of a map, which need not be here.
    ///
    /// - Throws: ``StoreError/Code/objectMissing`` if the object is not here; `RecordError` when there is no such
    ///   collection, or the elements do not fit.
    package func edit(_ object: Identity, _ property: String, _ edits: ElementEdits) throws {
        let (reference, classSchema) = try reference(object)
        guard let index = classSchema.index(of: property) else {
            throw RecordError.unknownProperty(property, of: classSchema)
        }
        guard let change = classSchema.properties[index].fitting(.edit(edits)) else {
            throw RecordError.mismatch(edits.inserted, property: classSchema.properties[index], of: classSchema)
        }
        try writer.update(reference, [FieldOperation(index, change)])
    }

    /// The operations that set properties and add to them, by position.
    ///
    /// - Parameter key: the key of the object, which may be set to what it is.
    static func fields(
        of classSchema: ClassSchema, key: ObjectKey?, set: [String: Value], add: [String: Value]
    ) throws -> [FieldOperation] {
        var fields: [FieldOperation] = []
        var named = PropertySet()
        for (name, value) in set {
            let index = try classSchema.index(of: name, named: &named)
            guard let fitting = classSchema.properties[index].type.fitting(value) else {
                throw RecordError.mismatch(value, property: classSchema.properties[index], of: classSchema)
            }
            guard index != classSchema.primaryKeyIndex else {
                if let key, ObjectKey(primaryKey: value) == key { continue }
                throw RecordError(.missingPrimaryKey, "the primary key of a \(classSchema.name) cannot change")
            }
            fields.append(FieldOperation(index, .set(fitting)))
        }
        named = PropertySet()
        for (name, amount) in add {
            let index = try classSchema.index(of: name, named: &named)
            let property = classSchema.properties[index]
            guard case .add(let fitting)? = property.fitting(.add(amount)), let type = fitting.scalarType,
                [.int, .float, .double, .decimal].contains(type)
            else { throw RecordError.mismatch(amount, property: property, of: classSchema) }
            guard index != classSchema.primaryKeyIndex else {
                throw RecordError(.missingPrimaryKey, "the primary key of a \(classSchema.name) cannot change")
            }
            fields.append(FieldOperation(index, .add(fitting)))
        }
        return fields.sorted { $0.property < $1.property }
    }

    /// Deletes an object by class and key.
    public func delete(_ object: Identity) throws {
        try writer.delete(reference(object).object)
    }

    /// Reads the object with a class and key as this transaction sees it; nil if it is not here.
    public func record(_ object: Identity) throws -> Record? {
        let (reference, classSchema) = try reference(object)
        return try writer.row(reference).map { Record(classSchema: classSchema, row: $0) }
    }

    func reference(_ object: Identity) throws -> (object: ObjectRef, classSchema: ClassSchema) {
        guard let classIndex = writer.schema.index(of: object.className) else {
            throw RecordError(.unknownClass, MissingNames.text(class: object.className))
        }
        let classSchema = writer.schema[classIndex]
        guard classSchema.accepts(object.key) else { throw RecordError.foreignKey(object.key, of: classSchema) }
        return (ObjectRef(classIndex, object.key), classSchema)
    }

    private func encoded<Element: ResultElement>(_ object: Element) throws -> (row: Row, classIndex: Int) {
        if let binding = recent.binding, recent.element == ObjectIdentifier(Element.self) {
            var row = RowEncoder(binding, metadata: object.objectMetadata, storage: recent.takeValues())
            try object.encode(to: &row)
            return (row.finish(), binding.classIndex)
        }
        let className = try Element.declaredClass?.schema.get().name ?? (object as? Record)?.classSchema.name
        let classIndex = try scope.classIndex(of: className ?? "")
        let binding = try scope.binding(of: Element.self, classIndex: classIndex)
        // The type of a record does not name its class.
        if Element.declaredClass != nil {
            recent.binding = binding
            recent.element = ObjectIdentifier(Element.self)
        }
        return (try object.encoded(for: binding), classIndex)
    }

    func missing(_ className: String) -> StoreError {
        StoreError(
            .objectMissing, "\(className) has no object with this key here to be changed; upsert it, or read it before")
    }
}

/// Caches the binding of the type that was written last, so that a loop over objects of one type looks it up once.
private final class RecentBinding {
    var element: ObjectIdentifier?
    var binding: ElementBinding?
    /// Those of the row that was inserted last. Unless somebody keeps them, the next row is made in their place.
    var values: [Value] = []

    func takeValues() -> [Value] {
        var taken: [Value] = []
        swap(&taken, &values)
        return taken
    }
}
