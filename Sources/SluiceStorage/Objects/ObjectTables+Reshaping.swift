internal import SluiceModel
internal import SluiceQuery

/// Changing what tables have of properties that exist, before the new schema is opened.
extension ObjectTables {
    /// Renames what holds a property's values.
    func rename(_ rename: SchemaChanges.Rename, in merged: Schema) throws {
        let declared = merged[rename.position.classIndex]
        let property = declared.properties[rename.position.property]
        guard property.name != rename.name else { return }
        try dropIndexes(over: rename.name, of: declared.name)
        let layout = TableLayout()
        let table = layout.table(declared.name)
        if property.type.isCollection {
            let old = layout.table(declared.name, collection: rename.name)
            let new = layout.table(declared.name, collection: property.name)
            // SQLite takes names that differ in case for the same.
            try connection.execute("ALTER TABLE \(old) RENAME TO \(Self.scratch)")
            try connection.execute("ALTER TABLE \(Self.scratch) RENAME TO \(new)")
        } else {
            let old = layout.column(rename.name)
            try connection.execute("ALTER TABLE \(table) RENAME COLUMN \(old) TO \(Self.scratch)")
            try connection.execute(
                "ALTER TABLE \(table) RENAME COLUMN \(Self.scratch) TO \(layout.column(property.name))")
        }
    }

    /// Rewrites integers for a wider type. Other types hold what they held in the same form.
    ///
    /// - Parameter isExact: whether a number that the wider type does not hold exactly is an error; else it is rounded.
    func widen(_ retype: SchemaChanges.Retype, in merged: Schema, isExact: Bool) throws {
        let declared = merged[retype.position.classIndex]
        let property = declared.properties[retype.position.property]
        let layout = TableLayout()
        let isCollection = property.type.isCollection
        let table =
            isCollection ? layout.table(declared.name, collection: property.name) : layout.table(declared.name)
        let column = isCollection ? TableLayout.value : layout.column(property.name)
        let converted: String
        switch (retype.type.element, property.type.element) {
        case (.scalar(.int), .scalar(.double)):
            if isExact { try checkExact(column, of: table, "\(declared.name).\(property.name)") }
            converted = "CAST(\(column) AS REAL)"
        case (.scalar(.int), .scalar(.decimal)):
            converted = "\(TableLayout.Function.decimal)(\(ScalarType.int.code), \(column))"
        default: return
        }
        try dropIndexes(over: property.name, of: declared.name)
        let type = TableLayout.columnType(property.type.element)
        try connection.execute("ALTER TABLE \(table) ADD COLUMN \(Self.scratch) \(type)")
        try connection.execute("UPDATE \(table) SET \(Self.scratch) = \(converted) WHERE \(column) IS NOT NULL")
        try connection.execute("ALTER TABLE \(table) DROP COLUMN \(column)")
        try connection.execute("ALTER TABLE \(table) RENAME COLUMN \(Self.scratch) TO \(column)")
    }

    private func checkExact(_ column: String, of table: String, _ place: String) throws {
        let range = PropertyType.exactIntegers
        let sql = """
            SELECT count(*) FROM \(table) WHERE \(column) NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)
            """
        let count = try connection.integer(sql) ?? 0
        guard count == 0 else {
            throw SchemaError(
                .incompatible,
                "\(place) cannot become double: \(count) of its values are beyond 2^53, where a double is not exact; "
                    + "change them, or add a property of another name")
        }
    }

    /// Drops a property's values and makes room for those of another type.
    func replace(_ position: SchemaChanges.PropertyPosition, in merged: Schema) throws {
        let table = try table(position.classIndex)
        // The column may have been renamed in the same step.
        let property = merged[position.classIndex].properties[position.property]
        let layout = TableLayout()
        if table.schema.properties[position.property].type.isCollection {
            try connection.execute("DROP TABLE \(layout.table(table.schema.name, collection: property.name))")
        } else {
            try dropIndexes(over: property.name, of: table.schema.name)
            try connection.execute("ALTER TABLE \(table.name) DROP COLUMN \(layout.column(property.name))")
        }
        try addColumn(property, to: merged[position.classIndex])
    }

    /// A name that no property's table or column has.
    private static let scratch = "_scratch"
}
