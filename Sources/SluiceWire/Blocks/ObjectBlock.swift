package import SluiceModel

/// What an object is to a view.
package enum RowRole: UInt8, Sendable, CaseIterable {
    /// It matches the query and is within the limit, from this version on.
    case root = 0
    /// A root links to it, directly or through others, from this version on.
    case linked = 1
    /// It was a member before; only its values change.
    case member = 2
}

/// Rows by column: keys, versions and the values of some properties, grouped by class, properties and role.
///
/// One is filled row by row, encoded by column, and decoded to the same shape; a group keeps the order of its rows.
package struct ObjectBlock: Hashable, Sendable {
    package private(set) var groups: [ObjectGroup] = []

    package init() {}

    package init(groups: [ObjectGroup]) { self.groups = groups }

    /// Adds a row that carries some properties of a whole row.
    ///
    /// - Parameters:
    ///   - row: all values of the object; those that `properties` names are taken.
    ///   - classIndex: the position of its class in the server's schema.
    ///   - edits: how lists come from what the receivers have, by property.
    package mutating func append(
        _ row: Row, classIndex: Int, role: RowRole, properties: PropertySet, edits: [Int: ListEdits] = [:]
    ) {
        let index = group(classIndex: classIndex, role: role, properties: properties)
        groups[index].append(row, edits: edits)
    }

    /// Adds rows that carry the same properties of whole rows.
    ///
    /// - Parameter body: called with each row and what it takes at the most, in bytes.
    package mutating func append(
        _ rows: [Row], classIndex: Int, role: RowRole, properties: PropertySet,
        _ body: (Row, Int) throws -> Void
    ) rethrows {
        guard !rows.isEmpty else { return }
        let index = group(classIndex: classIndex, role: role, properties: properties)
        groups[index].reserveCapacity(rows.count)
        for row in rows { try body(row, groups[index].append(row)) }
    }

    /// Adds rows that lie by column.
    package mutating func append(_ rows: RowColumns, classIndex: Int, role: RowRole, properties: PropertySet) {
        guard rows.count > 0 else { return }
        groups.append(ObjectGroup(classIndex: classIndex, role: role, properties: properties, rows))
    }

    /// Adds a row.
    ///
    /// - Parameter row: as many values as properties, in ascending order of property.
    package mutating func append(_ row: BlockRow) {
        let index = group(classIndex: row.object.classIndex, role: row.role, properties: row.properties)
        groups[index].append(key: row.object.key, version: row.version, values: row.values)
    }

    /// Adds a key without values, as in the members that a client lists.
    package mutating func append(_ object: ObjectRef, version: UInt64, role: RowRole) {
        let index = group(classIndex: object.classIndex, role: role, properties: [])
        groups[index].append(key: object.key, version: version, values: [])
    }

    private mutating func group(classIndex: Int, role: RowRole, properties: PropertySet) -> Int {
        // By position, so that no group is copied for each row.
        if let index = groups.indices.last(where: {
            groups[$0].classIndex == classIndex && groups[$0].role == role && groups[$0].properties == properties
        }) {
            return index
        }
        groups.append(ObjectGroup(classIndex: classIndex, role: role, properties: properties))
        return groups.count - 1
    }

    package var isEmpty: Bool { groups.isEmpty }

    /// The same block without some objects.
    package func without(_ objects: Set<ObjectRef>) -> ObjectBlock {
        let groups = groups.map { group in
            group.filtered { !objects.contains(ObjectRef(group.classIndex, $0)) }
        }
        return ObjectBlock(groups: groups.filter { $0.count > 0 })
    }

    /// The number of rows in all groups.
    package var count: Int { groups.reduce(0) { $0 + $1.count } }

    /// What the rows would take in full, about, in bytes; by column they take less.
    package var estimatedSize: Int { groups.reduce(0) { $0 + $1.estimatedSize } }

    /// Every row, group after group.
    package var rows: [BlockRow] {
        groups.flatMap { group in (0..<group.count).map { group.row(at: $0) } }
    }
}

/// One row of a block.
package struct BlockRow: Hashable, Sendable {
    package var object: ObjectRef
    package var version: UInt64
    package var role: RowRole
    /// The properties that the row carries.
    package var properties: PropertySet
    /// Their values, in ascending order of position.
    package var values: [Value]

    package init(object: ObjectRef, version: UInt64, role: RowRole, properties: PropertySet, values: [Value]) {
        self.object = object
        self.version = version
        self.role = role
        self.properties = properties
        self.values = values
    }
}
