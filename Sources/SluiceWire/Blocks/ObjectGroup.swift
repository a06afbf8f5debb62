package import SluiceModel

/// Rows of one class that carry the same properties and have the same role. Their values lie row after row in a group
/// that is being filled, and by column in one that was decoded or read so.
package struct ObjectGroup: Hashable, Sendable {
    package let classIndex: Int
    package let role: RowRole
    /// The properties that every row carries.
    package let properties: PropertySet
    /// Their positions, ascending.
    package let positions: [Int]
    package internal(set) var keys: [ObjectKey] = []
    package internal(set) var versions: [UInt64] = []
    /// The values of a group that is filled, row after row.
    private var filled: [Value] = []
    /// The values of a group that was decoded, or that a store read by column.
    var columnar: Columnar?
    /// What is said of lists beside their values, in the order of rows.
    package internal(set) var notes: [ListNote] = []
    /// What the rows that were appended take at the most, in bytes.
    package private(set) var estimatedSize: Int

    package init(classIndex: Int, role: RowRole, properties: PropertySet) {
        self.classIndex = classIndex
        self.role = role
        self.properties = properties
        positions = Array(properties)
        estimatedSize = 64 + 16 * positions.count
    }

    /// Rows that lie by column already.
    init(classIndex: Int, role: RowRole, properties: PropertySet, _ rows: RowColumns) {
        self.init(classIndex: classIndex, role: role, properties: properties)
        keys = rows.keys
        versions = rows.versions
        estimatedSize += rows.byteCount
        columnar = rows.columnar
        notes = rows.notes
    }

    /// How many properties every row carries.
    package var width: Int { positions.count }

    /// The number of rows.
    package var count: Int { keys.count }

    /// Shared, so that a group takes as little room as the budget of a message counts for it.
    final class Columnar: Sendable {
        /// A column for each property.
        let columns: [ValueColumn]
        let keys: ValueColumn

        init(columns: [ValueColumn], keys: ValueColumn) {
            self.columns = columns
            self.keys = keys
        }
    }

    /// A column for each property, in ascending order of property.
    package var columns: [ValueColumn] {
        if let columnar { return columnar.columns }
        return (0..<width).map { index in
            ValueColumn(stride(from: index, to: filled.count, by: width).map { filled[$0] })
        }
    }

    /// The keys as a column of values.
    package var keyColumn: ValueColumn { columnar?.keys ?? ValueColumn(keys.map(\.value)) }

    /// The values row after row, `width` of them each, in ascending order of property.
    var cells: [Value] {
        guard columnar != nil else { return filled }
        return (0..<count).flatMap { values(at: $0) }
    }

    /// The values of a row, in ascending order of property.
    package func values(at row: Int) -> ArraySlice<Value> {
        guard let columnar else { return filled[row * width..<(row + 1) * width] }
        return columnar.columns.map { $0.value(at: row, keys: keys) }[...]
    }

    package func row(at index: Int) -> BlockRow {
        BlockRow(
            object: ObjectRef(classIndex, keys[index]), version: versions[index], role: role, properties: properties,
            values: Array(values(at: index)))
    }

    /// Adds a row of all properties, of which the group's are taken.
    ///
    /// - Parameter edits: how lists come from what the receivers have, by property.
    /// - Returns: what the row takes at the most, in bytes.
    @discardableResult
    package mutating func append(_ row: Row, edits: [Int: ListEdits] = [:]) -> Int {
        becomeFilled()
        keys.append(row.key)
        versions.append(row.version)
        var byteCount = 12 + row.key.byteCount
        for position in positions {
            let value = row.values[position]
            byteCount += value.dataSize.byteCount
            filled.append(value)
        }
        if row.hasIdentities || !edits.isEmpty {
            for (column, position) in positions.enumerated() {
                if let edits = edits[position] {
                    notes.append(ListNote(row: keys.count - 1, column: column, .edits(edits)))
                } else if let identity = row.identity(of: position) {
                    notes.append(ListNote(row: keys.count - 1, column: column, .identity(identity)))
                    byteCount += 8 + identity.byteCount
                }
            }
        }
        estimatedSize += byteCount
        return byteCount
    }

    /// The rows whose keys meet a condition, with what is said of their lists.
    func filtered(_ isKept: (ObjectKey) -> Bool) -> ObjectGroup {
        var kept = ObjectGroup(classIndex: classIndex, role: role, properties: properties)
        var places: [Int: Int] = [:]
        for row in keys.indices where isKept(keys[row]) {
            places[row] = kept.count
            kept.append(key: keys[row], version: versions[row], values: values(at: row))
        }
        for note in notes {
            guard let row = places[note.row] else { continue }
            kept.notes.append(ListNote(row: row, column: note.column, note.content))
            if case .identity(let identity) = note.content { kept.estimatedSize += 8 + identity.byteCount }
        }
        return kept
    }

    /// Makes room for rows to come.
    mutating func reserveCapacity(_ rowCount: Int) {
        keys.reserveCapacity(count + rowCount)
        versions.reserveCapacity(count + rowCount)
        filled.reserveCapacity(filled.count + rowCount * width)
    }

    /// Turns a group that lies by column into one that can be filled.
    private mutating func becomeFilled() {
        guard columnar != nil else { return }
        filled = cells
        columnar = nil
    }

    /// Adds a row of exactly the group's properties.
    package mutating func append(key: ObjectKey, version: UInt64, values: some Collection<Value>) {
        precondition(values.count == width, "\(values.count) values for \(width) properties")
        becomeFilled()
        keys.append(key)
        versions.append(version)
        filled.append(contentsOf: values)
        estimatedSize += values.reduce(12 + key.byteCount) { $0 + $1.dataSize.byteCount }
    }
}

extension ObjectGroup {
    package static func == (left: ObjectGroup, right: ObjectGroup) -> Bool {
        left.classIndex == right.classIndex && left.role == right.role && left.properties == right.properties
            && left.keys == right.keys && left.versions == right.versions && left.cells == right.cells
            && left.notes == right.notes
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(classIndex)
        hasher.combine(role)
        hasher.combine(properties)
        hasher.combine(keys)
        hasher.combine(versions)
        hasher.combine(cells)
        hasher.combine(notes)
    }
}
