internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// Removes classes and properties without data from the schema. The caller stores the schema.
extension ObjectTables {
    /// Removes a class that has no objects and that no property links to. Its position is not used again.
    ///
    /// - Throws: `SchemaError` that says what is in the way; nothing is changed then.
    func removeClass(_ classIndex: Int) throws {
        let table = try table(classIndex)
        let name = table.schema.name
        let sources = schema.backlinks(to: classIndex).filter { $0.classIndex != classIndex }
        if let source = sources.first {
            let other = schema[source.classIndex]
            throw SchemaError(
                .inUse,
                "\(other.name).\(other.properties[source.property].name) links to \(name); remove that property first")
        }
        let count = try count(ofClass: classIndex)
        guard count == 0 else {
            throw SchemaError(.inUse, "\(name) has \(Self.objects(count)); delete them before you remove the class")
        }
        for collection in table.collections { try connection.execute("DROP TABLE \(collection.name)") }
        if table.hasIDIndex { try connection.execute("DROP TABLE \(table.idIndex)") }
        try connection.execute("DROP TABLE \(table.name)")
        var changed = schema
        changed.retire(class: classIndex)
        // An empty table takes the place of the old one, for code that goes through all classes.
        try makeTable(of: changed[classIndex])
        try open(changed)
    }

    /// Removes a property of which no object has another value than the default. Its position is not used again.
    ///
    /// - Throws: `SchemaError` that says what is in the way; nothing is changed then.
    func removeProperty(_ position: Int, ofClass classIndex: Int) throws {
        let table = try table(classIndex)
        let property = table.schema.properties[position]
        let place = "\(table.schema.name).\(property.name)"
        guard position != table.schema.primaryKeyIndex else {
            throw SchemaError(.inUse, "\(place) is the primary key, which names the objects; it goes with its class")
        }
        let count = try valueCount(of: position, in: table)
        guard count == 0 else {
            let isCollection = table.collections.contains { $0.property == position }
            let none = isCollection ? "empty" : property.defaultValue.isNull ? "null" : "the default"
            throw SchemaError(
                .inUse,
                "\(Self.objects(count)) \(count == 1 ? "has" : "have") a value for \(place); "
                    + "\(isCollection ? "make it" : "set it to") \(none) everywhere before you remove the property")
        }
        if let collection = table.collections.first(where: { $0.property == position }) {
            try connection.execute("DROP TABLE \(collection.name)")
        } else {
            try dropIndexes(over: property.name, of: table.schema.name)
            let column = TableLayout().column(property.name)
            try connection.execute("ALTER TABLE \(table.name) DROP COLUMN \(column)")
        }
        var changed = schema
        changed.retire(property: position, ofClass: classIndex)
        try open(changed)
    }

    /// How many objects have another value than the default; of a collection, how many have any elements.
    private func valueCount(of position: Int, in table: ClassTable) throws -> Int {
        let property = table.schema.properties[position]
        let present = "o.\(TableLayout.state) = \(TableLayout.State.present)"
        if let collection = table.collections.first(where: { $0.property == position }) {
            let sql = """
                SELECT count(*) FROM \(table.name) o WHERE \(present) AND EXISTS \
                (SELECT 1 FROM \(collection.name) WHERE \(TableLayout.owner) = o.\(TableLayout.row))
                """
            return Int(try connection.integer(sql) ?? 0)
        }
        let column = TableLayout().column(property.name)
        let none = SQLBinding(property.defaultValue).map(Self.literal) ?? "NULL"
        let sql = "SELECT count(*) FROM \(table.name) o WHERE \(present) AND o.\(column) IS NOT \(none)"
        return Int(try connection.integer(sql) ?? 0)
    }

    /// Drops every index that a column is part of, so that the column can be changed.
    func dropIndexes(over property: String, of className: String) throws {
        for index in try indexes() where index.className == className {
            let names = index.properties.map { $0.hasSuffix(" DESC") ? String($0.dropLast(5)) : $0 }
            guard names.contains(property) else { continue }
            try connection.execute("DROP INDEX \(TableLayout.quoted(index.name))")
        }
    }

    private static func objects(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }
}
