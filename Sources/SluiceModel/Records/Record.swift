/// An object without a Swift type: its class, its key and its values by property name.
///
/// The command line, the server's tools and programs that learn the schema at run time use records. Records can do
/// everything that models can.
public struct Record: Sendable {
    /// The object's class, as its store declares it.
    public let classSchema: ClassSchema
    package private(set) var row: Row

    package init(classSchema: ClassSchema, row: Row) {
        self.classSchema = classSchema
        self.row = row
    }

    /// Makes a new object with the given values, and defaults for the other properties.
    ///
    /// - Parameters:
    ///   - classSchema: the object's class.
    ///   - values: the values by property name; they must include the primary key in a class that has one.
    ///   - ids: draws the id of an object of a keyless class.
    /// - Throws: ``RecordError`` when a name is unknown, a value does not have the property's type, or the primary key
    ///   is missing.
    public init(
        _ classSchema: ClassSchema, _ values: [String: Value], ids: ObjectIDGenerator = .process
    ) throws(RecordError) {
        let key: ObjectKey
        if let name = classSchema.primaryKey {
            let formerNames = classSchema.property(named: name)?.formerNames ?? []
            let value = values[name] ?? formerNames.lazy.compactMap { values[$0] }.first
            guard let primaryKey = value.flatMap(ObjectKey.init(primaryKey:)) else {
                throw RecordError(.missingPrimaryKey, "\(classSchema.name) needs a value for its primary key '\(name)'")
            }
            key = primaryKey
        } else {
            key = .id(ids.next())
        }
        self.classSchema = classSchema
        row = Row(key: key, values: classSchema.defaultValues(for: key))
        var named = PropertySet()
        for (name, value) in values {
            let index = try classSchema.index(of: name, named: &named)
            guard let fitting = classSchema.properties[index].type.fitting(value) else {
                throw .mismatch(value, property: classSchema.properties[index], of: classSchema)
            }
            row.values[index] = fitting
        }
    }

    /// The object's key in its class.
    public var key: ObjectKey { row.key }

    /// The object's class and key.
    public var identity: Identity { Identity(className: classSchema.name, key: row.key) }

    /// The object's object id.
    public var objectID: ObjectID { identity.objectID }

    /// Whether the property's value is here; false for an unknown name, and for a property that a query excluded.
    public func isPresent(_ property: String) -> Bool {
        classSchema.index(of: property).map { !row.absent.contains($0) } ?? false
    }

    /// The value of a property, or its default if a query excluded it; nil for an unknown name.
    public subscript(property: String) -> Value? { classSchema.index(of: property).map { row.values[$0] } }

    /// Returns the value of a property that must be here.
    ///
    /// - Throws: ``RecordError`` when the name is unknown, or when a query excluded the property and it has no
    ///   stand-in: neither null, nor an empty collection, nor a declared default.
    public func value(_ property: String) throws(RecordError) -> Value {
        guard let index = classSchema.index(of: property) else { throw .unknownProperty(property, of: classSchema) }
        let declared = classSchema.properties[index]
        if row.absent.contains(index), !declared.canBeAbsent {
            throw RecordError(
                .excluded,
                "\(classSchema.name).\(property) was excluded by the query that brought this object, and it has no default"
            )
        }
        return row.values[index]
    }
}

extension Property {
    /// Whether the property has a stand-in when a query excludes it: null, the empty collection, or a default that was
    /// declared, which shows in that it differs from the type's zero.
    package var canBeAbsent: Bool {
        type.isOptional || type.isCollection || type.element.isLink || defaultValue != type.zero
    }
}

extension Record: CustomStringConvertible {
    /// The class and the values by property name, without the properties that a query excluded:
    /// `Car(vin: "V1", price: 9000.0)`.
    public var description: String {
        let values = classSchema.properties.indices.filter { !row.absent.contains($0) }.map { index in
            "\(classSchema.properties[index].name): \(row.values[index])"
        }
        let id = classSchema.primaryKey == nil ? ["id \(row.key)"] : []
        return "\(classSchema.name)(\((id + values).joined(separator: ", ")))"
    }
}
