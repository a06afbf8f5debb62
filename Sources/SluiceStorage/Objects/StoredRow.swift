package import SluiceModel

/// The row that a statement has found. Its cells are read when they are asked for, so that nothing is made of those
/// that nobody wants, and no array of values holds the others.
///
/// It is valid inside the call that lends it; after that it is the next row.
package final class StoredRow {
    let statement: Statement
    private let table: ClassTable
    private let tables: ObjectTables
    /// The row that was read as a whole last.
    private var former = Row(key: .int(0), values: [])

    /// - Parameter statement: one over ``ClassTable/rowColumns(alias:)``.
    init(_ statement: Statement, _ table: ClassTable, _ tables: ObjectTables) {
        self.statement = statement
        self.table = table
        self.tables = tables
    }

    /// The position of the row's class.
    package var classIndex: Int { table.index }

    package var object: ObjectRef {
        get throws { ObjectRef(table.index, try key) }
    }

    private var key: ObjectKey {
        get throws { try table.key(of: statement, from: table.keyCell) }
    }

    package var version: UInt64 { UInt64(bitPattern: statement.int(1)) }

    /// The properties whose values are not here; see ``Row/absent``.
    package var absent: PropertySet { statement.propertySet(2) }

    /// The value of a property.
    package func value(of property: Int) throws -> Value {
        if let cell = table.cells[property] { return try tables.read(cell, of: statement, table) }
        guard let collection = table.collections.first(where: { $0.property == property }) else { return .null }
        return try tables.readCollection(collection, ofRow: statement.int(0), table)
    }

    // MARK: Without a `Value`

    /// What a property that holds texts has; nil for null, and for one that holds something else.
    package func text(of property: Int) -> String? {
        guard let cell = table.cells[property], case .scalar(.string) = cell.codec else { return nil }
        let found = statement.cell(cell.column)
        return found.isNull ? nil : found.string
    }

    /// What a property that holds integers has; nil for null, and for one that holds something else.
    package func integer(of property: Int) -> Int64? {
        guard let cell = table.cells[property], case .scalar(.int) = cell.codec else { return nil }
        let found = statement.cell(cell.column)
        return found.isNull ? nil : found.int
    }

    /// What a property that holds numbers of double precision has; nil for null, and for one that holds something else.
    package func double(of property: Int) -> Double? {
        guard let cell = table.cells[property], case .scalar(.double) = cell.codec else { return nil }
        let found = statement.cell(cell.column)
        guard !found.isNull else { return nil }
        return found.isText ? Double.nan : found.double
    }

    /// The whole row. Unless somebody keeps it, the next one is read into its storage.
    package func row() throws -> Row {
        try tables.readRow(statement, table, into: &former)
        return former
    }
}
