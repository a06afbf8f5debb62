package import SluiceModel

/// The row that a statement has found. Its cells are read when they are asked for, so that nothing is made of those
/// that nobody wants, and no array of values holds the others.
///
/// It is valid inside the call that lends it; after that it is the next row.
package final class StoredRow {
    let statement: Statement
    private let table: ClassTable
    private let tables: ObjectTables
    /// The table's ``ClassTable/cells``, once more for all rows of the statement, so that reading one of them neither
    /// counts a reference nor calls the array. Freed with the row.
    private let cells: UnsafeMutableBufferPointer<ClassTable.Cell?>
    /// The row that was read as a whole last.
    private var former = Row(key: .int(0), values: [])

    /// - Parameter statement: one over ``ClassTable/rowColumns(alias:)``.
    init(_ statement: Statement, _ table: ClassTable, _ tables: ObjectTables) {
        self.statement = statement
        self.table = table
        self.tables = tables
        cells = .allocate(capacity: table.cells.count)
        _ = cells.initialize(from: table.cells)
    }

    deinit {
        cells.deinitialize()
        cells.deallocate()
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

    /// Where the statement has a property; nil for one without a column.
    @inline(__always)
    private func cell(of property: Int) -> ClassTable.Cell? {
        precondition(property >= 0 && property < cells.count, "the class has no such property")
        return cells[property]
    }

    /// What a property that holds texts has; nil for null, and for one that holds something else.
    package func text(of property: Int) -> String? {
        guard let cell = cell(of: property), case .scalar(.string) = cell.codec else { return nil }
        return statement.cell(cell.column).text
    }

    /// What a property that holds integers has; nil for null, and for one that holds something else.
    package func integer(of property: Int) -> Int64? {
        guard let cell = cell(of: property), case .scalar(.int) = cell.codec else { return nil }
        let found = statement.cell(cell.column)
        let number = found.int
        // Null reads as 0, so other numbers need no second question.
        return number == 0 && found.isNull ? nil : number
    }

    /// What a property that holds numbers of double precision has; nil for null, and for one that holds something else.
    package func double(of property: Int) -> Double? {
        guard let cell = cell(of: property), case .scalar(.double) = cell.codec else { return nil }
        let found = statement.cell(cell.column)
        let number = found.double
        // Null and the text that stands for what is not a number read as 0.
        guard number == 0 else { return number }
        return found.isNull ? nil : found.isText ? .nan : number
    }

    /// The whole row. Unless somebody keeps it, the next one is read into its storage.
    package func row() throws -> Row {
        try tables.readRow(statement, table, into: &former)
        return former
    }
}
