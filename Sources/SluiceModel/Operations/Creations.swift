/// Creations of objects of one class that set the same properties, by column: the form in which many of them come in one
/// transaction.
package struct Creations: Sendable {
    package let classIndex: Int
    /// The properties that every creation sets, ascending.
    package let properties: [Int]
    package let keys: [ObjectKey]
    /// The keys as values.
    package let keyColumn: ValueColumn
    /// The values of each of `properties`.
    package let columns: [ValueColumn]
    /// For each of `properties` a bit for each creation, lowest first, that is set where the value is a default; empty
    /// where none is.
    package let defaults: [[UInt8]]
    /// The binary form in which they came, or will travel.
    package let encoded: [UInt8]

    /// - Precondition: there is a column for each property and in it a value for each key, of which there is at least one.
    package init(
        classIndex: Int, properties: [Int], keys: [ObjectKey], keyColumn: ValueColumn, columns: [ValueColumn],
        defaults: [[UInt8]], encoded: [UInt8]
    ) {
        precondition(columns.count == properties.count && defaults.count == properties.count && !keys.isEmpty)
        precondition(keyColumn.count == keys.count && columns.allSatisfy { $0.count == keys.count })
        self.classIndex = classIndex
        self.properties = properties
        self.keys = keys
        self.keyColumn = keyColumn
        self.columns = columns
        self.defaults = defaults
        self.encoded = encoded
    }

    package var count: Int { keys.count }

    package func object(at position: Int) -> ObjectRef { ObjectRef(classIndex, keys[position]) }

    /// The values of each of `properties`, row after row. O(values).
    package var values: [[Value]] { columns.map { $0.values(keys: keys) } }

    /// The value that a creation gives to one of `properties`.
    package func value(at position: Int, ofColumn column: Int) -> Value {
        columns[column].value(at: position, keys: keys)
    }

    /// Whether a value is a default that nobody chose.
    package func isDefault(at position: Int, ofColumn column: Int) -> Bool {
        let bits = defaults[column]
        return position / 8 < bits.count && bits[position / 8] >> UInt8(position % 8) & 1 == 1
    }

    /// The creations one by one. O(values).
    package var operations: [ObjectOperation] {
        let values = values
        return keys.indices.map { position in
            let fields = properties.indices.map { column in
                let value = values[column][position]
                let isDefault = isDefault(at: position, ofColumn: column)
                return FieldOperation(properties[column], isDefault ? .setDefault(value) : .set(value))
            }
            return ObjectOperation(object(at: position), .create(fields))
        }
    }

    /// From the first key to the last, if each is above the one before it; else nil. O(keys).
    package var ascendingKeys: ClosedRange<ObjectKey>? {
        var last = keys[0]
        for key in keys.dropFirst() {
            guard last < key else { return nil }
            last = key
        }
        return keys[0]...last
    }
}
