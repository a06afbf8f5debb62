/// Creations of objects of one class that set the same properties, by column, as a transaction makes them.
package struct CreationColumns: Sendable {
    package let classIndex: Int
    /// The properties that every creation sets, ascending.
    package let properties: [Int]
    package private(set) var keys: [ObjectKey] = []
    /// The values of each of `properties`.
    package private(set) var columns: [[Value]]
    /// For each of `properties` a bit for each creation, lowest first, that is set where the value is a default. It ends
    /// with the byte of the last default.
    package private(set) var defaults: [[UInt8]]

    package init(classIndex: Int, properties: [Int]) {
        self.classIndex = classIndex
        self.properties = properties
        columns = Array(repeating: [], count: properties.count)
        defaults = Array(repeating: [], count: properties.count)
    }

    package var count: Int { keys.count }

    /// Adds the creation of an object as it is. Values that are the defaults of the class yield to what others write.
    ///
    /// - Parameter defaults: the defaults of the class.
    package mutating func append(_ row: Row, defaults: [Value]) {
        for (column, property) in properties.enumerated() {
            let value = row.values[property]
            append(value, isDefault: defaults[property].isIdentical(to: value), toColumn: column)
        }
        keys.append(row.key)
    }

    /// Adds a creation.
    ///
    /// - Parameter fields: assignments of each of `properties`, in this order.
    package mutating func append(_ key: ObjectKey, _ fields: [FieldOperation]) {
        for (column, field) in fields.enumerated() {
            switch field.change {
            case .set(let value): append(value, isDefault: false, toColumn: column)
            case .setDefault(let value): append(value, isDefault: true, toColumn: column)
            case .add, .clear, .edit, .editList: preconditionFailure("a creation by column assigns every property")
            }
        }
        keys.append(key)
    }

    private mutating func append(_ value: Value, isDefault: Bool, toColumn column: Int) {
        columns[column].append(value)
        guard isDefault else { return }
        let byte = keys.count / 8
        while defaults[column].count <= byte { defaults[column].append(0) }
        defaults[column][byte] |= 1 << UInt8(keys.count % 8)
    }

    /// The creations as they are kept and travel.
    ///
    /// - Parameter encoded: their binary form.
    package func creations(encoded: [UInt8]) -> Creations {
        Creations(
            classIndex: classIndex, properties: properties, keys: keys, keyColumn: ValueColumn(keys.map(\.value)),
            columns: columns.map { ValueColumn($0) }, defaults: defaults, encoded: encoded)
    }

    /// The creations one by one. O(values).
    package var operations: [ObjectOperation] { creations(encoded: []).operations }
}
