internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Converts the rows of one group to rows of this store.
struct ServerImages {
    let classIndex: Int
    let classSchema: ClassSchema
    /// The store's positions of the properties that the rows have.
    let properties: [Int]
    let carried: PropertySet
    /// The store's positions of those that a query leaves out.
    private let others: PropertySet
    /// The store's positions of those that the server has in a narrower type.
    private let widened: PropertySet

    init(
        classIndex: Int, classSchema: ClassSchema, properties: [Int], server: ClassSchema,
        serverProperties: PropertySet
    ) {
        self.classIndex = classIndex
        self.classSchema = classSchema
        self.properties = properties
        widened = PropertySet(
            zip(properties, serverProperties).lazy.filter {
                classSchema.properties[$0].type.element != server.properties[$1].type.element
            }.map(\.0))
        carried = PropertySet(properties)
        var others = PropertySet(all: classSchema.properties.count).subtracting(carried)
        if let primaryKey = classSchema.primaryKeyIndex { others.remove(primaryKey) }
        // What the server lacks has its default in every object, also once the server has it.
        for property in others where server.index(of: classSchema.properties[property].name) == nil {
            others.remove(property)
        }
        self.others = others
    }

    /// The rows of a group in the form in which they are stored together; nil where values have to be converted.
    func batch(of group: ObjectGroup) -> RowBatch? {
        guard widened.isEmpty else { return nil }
        return RowBatch(
            classIndex: classIndex, properties: properties, absent: others, keys: group.keys,
            keyColumn: group.keyColumn, versions: group.versions, columns: group.columns)
    }

    /// The edits of lists that the server sent, as the lists take them here.
    func listEdits(_ notes: [ListNote]) -> [Int: ListEdits] {
        var result: [Int: ListEdits] = [:]
        for note in notes where !widened.contains(properties[note.column]) {
            let property = properties[note.column]
            if case .edits(let edits) = note.content,
                case .editList(let fitting)? = classSchema.properties[property].fitting(.editList(edits))
            {
                result[property] = fitting
            }
        }
        return result
    }

    /// A copy of `row`, or of a new object with defaults, with the values that the server sent; nil if it sent edits of
    /// a list that is not here.
    func overlay(
        _ row: Row?, key: ObjectKey, version: UInt64, values: ArraySlice<Value>, notes: [ListNote]
    ) -> Row? {
        var result = row ?? Row(key: key, values: classSchema.defaultValues(for: key), absent: others)
        result.version = version
        if notes.isEmpty {
            for (property, value) in zip(properties, values) { result.set(value, of: property) }
        } else {
            for (column, (property, value)) in zip(properties, values).enumerated() {
                switch notes.first(where: { $0.column == column })?.content {
                case nil: result.set(value, of: property)
                case .identity(let identity):
                    result.set(value, of: property)
                    result.setIdentity(identity, of: property)
                case .edits(let edits):
                    guard row != nil, !result.absent.contains(property), result.list(of: property) != nil,
                        let change = classSchema.properties[property].fitting(.editList(edits))
                    else { return nil }
                    result.apply(FieldOperation(property, change))
                }
            }
        }
        for property in widened {
            let declared = classSchema.properties[property]
            result.values[property] = declared.type.fitting(result.values[property]) ?? declared.defaultValue
        }
        result.absent.subtract(carried)
        return result
    }
}
