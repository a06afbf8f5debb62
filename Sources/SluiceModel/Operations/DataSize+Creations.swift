extension Changeset {
    /// What the operations take, at the most.
    package var dataSize: DataSize {
        creations?.dataSize ?? operations.reduce(DataSize()) { $0 + $1.dataSize }
    }
}

extension Creations {
    /// What they take as operations, at the most. O(keys), and O(values) for collections.
    package var dataSize: DataSize {
        columns.reduce(dataSizeWithoutValues) { $0 + $1.dataSize(keys: keys).total }
    }

    fileprivate var dataSizeWithoutValues: DataSize {
        let width = properties.count
        let keyByteCount = keys.reduce(0) { $0 + $1.byteCount }
        return DataSize(byteCount: keyByteCount + count * (12 + 4 * width), elementCount: count * (2 + width))
    }
}

extension DataLimits {
    /// Whether a transaction of creations, and every object that it makes, is within the limits as far as that shows
    /// without a look at each object: false says nothing. O(keys), and O(values) for collections.
    package func surelyAllow(_ creations: Creations, of declared: ClassSchema) -> Bool {
        let keyByteCountMax = creations.keys.reduce(0) { max($0, $1.byteCount) }
        guard creations.count <= operationCount, keyByteCountMax <= keyByteCount else { return false }
        var transaction = creations.dataSizeWithoutValues
        // The key is there once more where a property is the primary key.
        var object = DataSize(
            byteCount: 80 + 2 * keyByteCountMax + 16 * creations.columns.count, elementCount: declared.properties.count)
        for column in creations.columns {
            let (total, largest) = column.dataSize(keys: creations.keys)
            transaction += total
            object += largest
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
            return values(keys: keys).reduce((DataSize(), DataSize())) { sizes, value in
                let size = value.dataSize
                let largest = DataSize(
                    byteCount: max(sizes.1.byteCount, size.byteCount),
                    elementCount: max(sizes.1.elementCount, size.elementCount))
                return (sizes.0 + size, largest)
            }
        }
    }
}
