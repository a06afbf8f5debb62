package import SluiceModel

/// Rows of one class that carry the same properties and have the same role.
package struct ObjectGroup: Hashable, Sendable {
    package let classIndex: Int
    package let role: RowRole
    /// The properties that every row carries.
    package let properties: PropertySet
    /// Their positions, ascending.
    package let positions: [Int]
    package internal(set) var keys: [ObjectKey] = []
    package internal(set) var versions: [UInt64] = []
    /// The values row after row, `width` of them each, in ascending order of property.
    package internal(set) var cells: [Value] = []
    /// What the rows that were appended take at the most, in bytes.
    package private(set) var estimatedSize: Int

    package init(classIndex: Int, role: RowRole, properties: PropertySet) {
        self.classIndex = classIndex
        self.role = role
        self.properties = properties
        positions = Array(properties)
        estimatedSize = 64 + 16 * positions.count
    }

    /// How many properties every row carries.
    package var width: Int { positions.count }

    /// The number of rows.
    package var count: Int { keys.count }

    /// The values of a row, in ascending order of property.
    package func values(at row: Int) -> ArraySlice<Value> { cells[row * width..<(row + 1) * width] }

    package func row(at index: Int) -> BlockRow {
        BlockRow(
            object: ObjectRef(classIndex, keys[index]), version: versions[index], role: role, properties: properties,
            values: Array(values(at: index)))
    }

    /// Adds a row of all properties, of which the group's are taken.
    package mutating func append(_ row: Row) {
        keys.append(row.key)
        versions.append(row.version)
        estimatedSize += 12 + row.key.byteCount
        for position in positions {
            let value = row.values[position]
            estimatedSize += value.dataSize.byteCount
            cells.append(value)
        }
    }

    /// Adds a row of exactly the group's properties.
    package mutating func append(key: ObjectKey, version: UInt64, values: some Collection<Value>) {
        precondition(values.count == width, "\(values.count) values for \(width) properties")
        keys.append(key)
        versions.append(version)
        cells.append(contentsOf: values)
        estimatedSize += values.reduce(12 + key.byteCount) { $0 + $1.dataSize.byteCount }
    }
}

extension ObjectGroup {
    package static func == (left: ObjectGroup, right: ObjectGroup) -> Bool {
        left.classIndex == right.classIndex && left.role == right.role && left.properties == right.properties
            && left.keys == right.keys && left.versions == right.versions && left.cells == right.cells
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(classIndex)
        hasher.combine(role)
        hasher.combine(properties)
        hasher.combine(keys)
        hasher.combine(versions)
        hasher.combine(cells)
    }
}
