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
    /// The binary form in which they came.
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

    /// Whether some values are defaults.
    package var hasDefaults: Bool { defaults.contains { !$0.isEmpty } }

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

extension Creations {
    /// What they take as operations, at the most. O(keys), and O(values) for collections.
    package var dataSize: DataSize {
        var size = DataSize(
            byteCount: count * (12 + 4 * properties.count), elementCount: count * (2 + properties.count))
        for key in keys { size.byteCount += key.byteCount }
        for column in columns { size += column.dataSize(keys: keys).total }
        return size
    }
}

extension DataLimits {
    /// Whether a transaction of creations, and every object that it makes, is within the limits as far as that shows
    /// without a look at each object: false says nothing. O(keys), and O(values) for collections.
    package func surelyAllow(_ creations: Creations, of declared: ClassSchema) -> Bool {
        let keyByteCountMax = creations.keys.reduce(0) { max($0, $1.byteCount) }
        guard creations.count <= operationCount, keyByteCountMax <= keyByteCount else { return false }
        let transaction = creations.dataSize
        // The key is there once more where a property is the primary key.
        var object = DataSize(
            byteCount: 80 + 2 * keyByteCountMax + 16 * creations.columns.count, elementCount: declared.properties.count)
        for column in creations.columns {
            object += column.dataSize(keys: creations.keys).largest
        }
        let set = PropertySet(creations.properties)
        for (position, property) in declared.properties.enumerated() where !set.contains(position) {
            object += property.defaultValue.dataSize + DataSize(byteCount: 16)
        }
        return transaction.byteCount <= transactionByteCount && transaction.elementCount <= transactionElementCount
            && object.byteCount <= objectByteCount && object.elementCount <= objectElementCount
    }
}

extension ValueColumn {
    /// What all values take, at the most, and no value takes more than.
    fileprivate func dataSize(keys: [ObjectKey]) -> (total: DataSize, largest: DataSize) {
        func every(_ byteCount: Int) -> (total: DataSize, largest: DataSize) {
            (DataSize(byteCount: count * byteCount), DataSize(byteCount: byteCount))
        }
        switch content {
        case .null: return every(1)
        case .integers: return every(12)
        case .floats: return every(5)
        case .doubles: return every(9)
        case .texts(_, let texts):
            let lengths = texts.lengths
            let longest = Int(lengths.max() ?? 0)
            // A link takes one byte more.
            let all = (0..<count).reduce(0) { $0 + 7 + Int(lengths[texts.index(ofRow: $1)]) }
            return (DataSize(byteCount: all), DataSize(byteCount: 7 + longest))
        case .key, .values:
            return (0..<count).reduce((DataSize(), DataSize())) { sizes, row in
                let size = value(at: row, keys: keys).dataSize
                let largest = DataSize(
                    byteCount: max(sizes.1.byteCount, size.byteCount),
                    elementCount: max(sizes.1.elementCount, size.elementCount))
                return (sizes.0 + size, largest)
            }
        }
    }
}
