internal import SluiceJSON
internal import SluiceModel
internal import SluiceWire

/// Values that somebody would like to write, as a question carries them: a map of property names and values in their
/// binary form (PROTOCOL.md, section 4), in hexadecimal digits.
struct ProposedValues {
    /// Why the values mean nothing here.
    struct Problem: Error {
        let message: String
    }

    private let declared: ClassSchema
    private let classIndex: Int
    private let values: [(property: Int, value: Value)]
    private let check: OperationCheck

    /// - Throws: ``Problem`` when the text is no such map, or names a property that is not there.
    init(_ text: String, ofClass classIndex: Int, schema: Schema, limits: DataLimits) throws(Problem) {
        self.classIndex = classIndex
        declared = schema[classIndex]
        check = OperationCheck(schema: schema, limits: limits)
        guard let bytes = Hexadecimal.decode(text) else {
            throw Problem(message: "values are a map in hexadecimal digits")
        }
        guard let map = try? ValueMap(wireBytes: bytes) else { throw Problem(message: "the values are not a map") }
        var values: [(property: Int, value: Value)] = []
        for entry in map.entries {
            guard let property = declared.index(of: entry.key), !declared.properties[property].isRetired else {
                throw Problem(message: "\(declared.name) has no property '\(entry.key.prefix(63))'")
            }
            values.append((property, entry.value))
        }
        self.values = values
    }

    /// The object that would be created.
    ///
    /// - Parameter key: the key that was asked for; nil takes that of the values, or any in a class without a primary
    ///   key.
    /// - Throws: ``Problem`` when the key is missing or a value is none of its property.
    func creation(_ key: ObjectKey?) throws(Problem) -> Row {
        let written = declared.primaryKeyIndex.flatMap { position in values.first { $0.property == position }?.value }
        let any = declared.primaryKey == nil ? ObjectKey.id(ObjectID(high: 0, low: 0)) : nil
        guard let key = key ?? written.flatMap({ ObjectKey(primaryKey: $0) }) ?? any else {
            throw Problem(message: "the values lack the primary key '\(declared.primaryKey ?? "")'")
        }
        return try row(key, declared.defaultValues(for: key))
    }

    /// An object as it would be after the values are written.
    ///
    /// - Throws: ``Problem`` when a value is none of its property.
    func update(_ row: Row) throws(Problem) -> Row { try self.row(row.key, row.values) }

    /// The properties that are named and differ from an object.
    func changes(from values: [Value]) -> PropertySet {
        PropertySet(self.values.filter { !$0.value.isIdentical(to: values[$0.property]) }.map(\.property))
    }

    private func row(_ key: ObjectKey, _ former: [Value]) throws(Problem) -> Row {
        let fields = values.map { FieldOperation($0.property, .set($0.value)) }
        let operation = check.fitting(ObjectOperation(ObjectRef(classIndex, key), .create(fields)))
        if let problem = check.problem(with: operation) { throw Problem(message: problem) }
        var row = Row(key: key, values: former)
        row.apply(operation.fields)
        return row
    }
}
