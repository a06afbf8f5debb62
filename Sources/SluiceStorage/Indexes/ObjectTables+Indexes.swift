internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

extension ObjectTables {
    /// All indexes of all classes except those of keys, by name.
    func indexes() throws -> [QueryExplanation.Index] {
        try indexNames().compactMap { try description(ofIndex: $0) }.filter { $0.origin != .key }
    }

    /// The indexes that were made for queries.
    func automaticIndexes() throws -> [TableIndex] {
        try indexNames().compactMap { TableIndex(name: $0, in: schema) }
    }

    func make(_ index: TableIndex) throws { try connection.execute(index.creation(in: schema)) }

    func drop(_ index: TableIndex) throws {
        try connection.execute("DROP INDEX IF EXISTS \(TableLayout.quoted(index.name(in: schema)))")
    }

    private func indexNames() throws -> [String] {
        var names: [String] = []
        try connection.withStatement("SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name") { statement in
            while try statement.step() { names.append(statement.string(0)) }
        }
        return names
    }

    /// The properties of an index, and why it exists; nil for an index that is not over objects.
    func description(ofIndex name: String) throws -> QueryExplanation.Index? {
        if let index = TableIndex(name: name, in: schema) { return index.description(in: schema) }
        for declared in schema.classes {
            if UTF8Order.equal(name, "sqlite_autoindex_o_\(declared.name)_1") {
                return .init(
                    name: name, className: declared.name, properties: [declared.primaryKey ?? "@id"], origin: .key)
            }
            for property in declared.properties {
                if UTF8Order.equal(name, "x_\(declared.name)_\(property.name)") {
                    return .init(
                        name: name, className: declared.name, properties: [property.name],
                        origin: property.type.element.isLink ? .link : .declared)
                }
            }
        }
        return nil
    }
}
