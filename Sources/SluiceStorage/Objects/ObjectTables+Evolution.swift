internal import SluiceModel
internal import SluiceQuery

extension ObjectTables {
    /// Merges what a program declares into the tables and ``schema``. The caller stores the schema itself.
    ///
    /// - Returns: what changed.
    func merge(_ other: Schema, sides: (own: String, other: String)) throws -> SchemaChanges {
        var merged = schema
        let changes = try merged.merge(other, sides: sides)
        try apply(changes, leadingTo: merged, isExact: true)
        return changes
    }

    /// Takes in the schema of a server. The caller stores the schema itself.
    ///
    /// - Returns: what changed.
    func adopt(_ server: Schema) throws -> SchemaChanges {
        var merged = schema
        let changes = try merged.adopt(server)
        try apply(changes, leadingTo: merged, isExact: false)
        return changes
    }

    /// - Parameter isExact: whether a value that a wider type does not hold exactly is an error; else it is rounded.
    private func apply(_ changes: SchemaChanges, leadingTo merged: Schema, isExact: Bool) throws {
        guard !changes.isEmpty else { return }
        try Self.checkTables(merged)
        for rename in changes.renames { try self.rename(rename, in: merged) }
        for retype in changes.retypes { try widen(retype, in: merged, isExact: isExact) }
        for position in changes.replacements { try replace(position, in: merged) }
        for classIndex in changes.classes { try makeTable(of: merged[classIndex]) }
        for position in changes.properties {
            try addColumn(merged[position.classIndex].properties[position.property], to: merged[position.classIndex])
        }
        let reshaped = changes.renames.map(\.position) + changes.retypes.map(\.position)
        let indexed = reshaped.filter {
            let property = merged[$0.classIndex].properties[$0.property]
            return property.isIndexed || property.type.element.isLink
        }
        for position in changes.indexes + indexed {
            let declared = merged[position.classIndex]
            try makeIndex(declared.properties[position.property], of: declared)
        }
        try open(merged)
        for position in changes.properties + changes.replacements { try fillDefault(position) }
    }

    /// Refuses a schema in which two collections would share a table. A table's name consists of those of class and
    /// property, so two pairs of names may give the same.
    private static func checkTables(_ schema: Schema) throws(SchemaError) {
        var places: [String: String] = [:]
        let layout = TableLayout()
        for declared in schema.classes {
            for property in declared.properties where property.type.isCollection {
                let table = layout.table(declared.name, collection: property.name)
                let place = "\(declared.name).\(property.name)"
                guard let other = places.updateValue(place, forKey: table.lowercased()) else { continue }
                throw SchemaError(
                    .duplicateName, "the collections \(other) and \(place) would share a table; rename one")
            }
        }
    }

    func makeTable(of declared: ClassSchema) throws {
        let layout = TableLayout()
        var columns = ["\(TableLayout.row) INTEGER PRIMARY KEY"]
        if declared.primaryKey == nil {
            columns += ["\(TableLayout.high) INTEGER NOT NULL", "\(TableLayout.low) INTEGER NOT NULL"]
        }
        columns += [
            "\(TableLayout.state) INTEGER NOT NULL", "\(TableLayout.version) INTEGER NOT NULL", "\(TableLayout.absent)",
            "_incarnation INTEGER NOT NULL DEFAULT 0",
        ]
        for property in declared.properties where !property.type.isCollection && !property.isRetired {
            let isKey = property.name == declared.primaryKey
            let type = TableLayout.columnType(property.type.element)
            columns.append("\(layout.column(property.name)) \(type)\(isKey ? " NOT NULL UNIQUE" : "")")
        }
        if declared.primaryKey == nil { columns.append("UNIQUE(\(TableLayout.high), \(TableLayout.low))") }
        try connection.execute("CREATE TABLE \(layout.table(declared.name)) (\(columns.joined(separator: ", ")))")
        for property in declared.properties where !property.isRetired {
            if property.type.isCollection {
                try makeCollection(property, of: declared)
            } else if property.type.element.isLink || property.isIndexed {
                try makeIndex(property, of: declared)
            }
        }
    }

    func makeCollection(_ property: Property, of declared: ClassSchema) throws {
        let name = TableLayout().table(declared.name, collection: property.name)
        let isMap = property.type.container == .map
        let order = isMap ? "\(TableLayout.key) TEXT NOT NULL" : "\(TableLayout.position) INTEGER NOT NULL"
        let identity = property.type.container == .list ? ", \(TableLayout.identity) BLOB" : ""
        try connection.execute(
            """
            CREATE TABLE \(name) (\(TableLayout.owner) INTEGER NOT NULL, \(order), \
            \(TableLayout.value) \(TableLayout.columnType(property.type.element))\(identity), \
            PRIMARY KEY (\(TableLayout.owner), \(isMap ? TableLayout.key : TableLayout.position))) WITHOUT ROWID
            """)
        if property.type.element.isLink || property.isIndexed { try makeIndex(property, of: declared) }
    }

    func makeIndex(_ property: Property, of declared: ClassSchema) throws {
        guard property.name != declared.primaryKey else { return }
        let layout = TableLayout()
        let isLink = property.type.element.isLink
        let index = TableLayout.quoted("x_\(declared.name)_\(property.name)")
        let table =
            property.type.isCollection
            ? layout.table(declared.name, collection: property.name) : layout.table(declared.name)
        let column = property.type.isCollection ? TableLayout.value : layout.column(property.name)
        try connection.execute(
            """
            CREATE INDEX IF NOT EXISTS \(index) ON \(table) (\(column))\
            \(isLink ? " WHERE \(column) IS NOT NULL" : "")
            """)
    }

    /// Adds a property to a table that may have rows. SQLite keeps the default of a new column in the declaration, so
    /// the cost does not depend on the number of rows.
    func addColumn(_ property: Property, to declared: ClassSchema) throws {
        if property.type.isCollection { return try makeCollection(property, of: declared) }
        let layout = TableLayout()
        let type = TableLayout.columnType(property.type.element)
        let literal = SQLBinding(property.defaultValue).map(Self.literal) ?? "NULL"
        try connection.execute(
            """
            ALTER TABLE \(layout.table(declared.name)) ADD COLUMN \(layout.column(property.name)) \(type) DEFAULT \(literal)
            """)
        if property.type.element.isLink || property.isIndexed { try makeIndex(property, of: declared) }
    }

    /// Gives present rows the default of a new property where a column's declaration cannot: links and collections.
    private func fillDefault(_ position: SchemaChanges.PropertyPosition) throws {
        let property = schema[position.classIndex].properties[position.property]
        let isEmptyCollection = property.type.isCollection && property.defaultValue == property.type.zero
        guard property.type.isCollection || property.type.element.isLink, !isEmptyCollection,
            !property.defaultValue.isNull
        else { return }
        var keys: [ObjectKey] = []
        let table = try table(position.classIndex)
        let sql = """
            SELECT \(table.keyColumns.joined(separator: ", ")) FROM \(table.name) \
            WHERE \(TableLayout.state) = \(TableLayout.State.present)
            """
        try connection.withStatement(sql) { statement in
            while try statement.step() { keys.append(try table.key(of: statement, from: 0)) }
        }
        for key in keys {
            guard var row = try row(ObjectRef(position.classIndex, key)) else { throw table.damaged() }
            row.set(property.defaultValue, of: position.property)
            try update(row, ofClass: position.classIndex, changed: [position.property])
        }
    }

    /// A constant as SQL. Text is written by its bytes, so that no character is special.
    static func literal(_ binding: SQLBinding) -> String {
        switch binding {
        case .null: "NULL"
        case .integer(let value): String(value)
        case .real(let value): value.isInfinite ? (value < 0 ? "-9e999" : "9e999") : String(value)
        case .text(let text): "(CAST(x'\(Hexadecimal.encode(Array(text.utf8)))' AS TEXT))"
        case .blob(let bytes): "x'\(Hexadecimal.encode(bytes))'"
        }
    }
}
