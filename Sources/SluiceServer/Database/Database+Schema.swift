internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

/// What a change of the schema means for what is in memory.
enum SchemaChange {
    case none
    /// Positions stay the same, but views must include what is new.
    case grown
    /// Views, positions and rows in memory belong to the old schema.
    case reshaped
}

extension Database {
    /// Whether a client declares what the schema does not have.
    ///
    /// - Throws: ``SchemaError`` when it contradicts the schema.
    func lacks(_ schema: Schema) throws -> Bool { try extended(by: schema) != nil }

    /// The schema with what a client declares, and what that adds; nil if it adds nothing.
    private func extended(by schema: Schema) throws -> (schema: Schema, changes: SchemaChanges)? {
        guard schema != storage.schema else { return nil }
        if let local = schema.classes.first(where: \.isLocal) {
            throw SchemaError(
                .localChange,
                "\(local.name) is local, and a server's database has only classes that sync; leave it out here")
        }
        var merged = storage.schema
        let changes = try merged.merge(schema, sides: ("the server", "this client"))
        return changes.isEmpty ? nil : (merged, changes)
    }

    /// Adds what a client declares and the schema does not have.
    ///
    /// - Parameter mayAdd: whether the client may change the schema.
    /// - Throws: ``SchemaError``, and ``StorageError``.
    func extendSchema(by schema: Schema, mayAdd: Bool) throws -> SchemaChange {
        guard let (merged, changes) = try extended(by: schema) else { return .none }
        if let damage = storage.damage { throw damage }
        guard mayAdd else {
            throw SchemaError(
                .notAllowed,
                "the server does not have \(changes.first(in: merged)), and this session may not change its schema")
        }
        try checkQuotas(merged)
        try becomeDurable()
        _ = try transaction { try storage.merge(schema, sides: ("the server", "this client")) }
        return changes.reshapes ? .reshaped : .grown
    }

    /// - Throws: ``SchemaError`` when a schema has more than the database may have.
    private func checkQuotas(_ schema: Schema) throws(SchemaError) {
        let classes = schema.classes.filter { !$0.isRetired }
        let propertyCount = classes.reduce(0) { $0 + $1.properties.count { !$0.isRetired } }
        for (what, count, countMax) in [
            ("classes", classes.count, limits.classCountMax), ("properties", propertyCount, limits.propertyCountMax),
        ] {
            guard let countMax, count > countMax else { continue }
            throw SchemaError(
                .limitExceeded,
                "the database would have \(count) \(what) with what this client declares, and its quota is \(countMax)")
        }
    }

    /// Removes an empty class or a property without values.
    ///
    /// - Parameter mayChange: whether the client may change the schema.
    /// - Throws: ``SchemaError``, and ``StorageError``.
    func remove(_ removal: ClientMessage.Removal, mayChange: Bool) throws {
        guard mayChange else {
            throw SchemaError(.notAllowed, "this session may not change the server's schema")
        }
        guard let classIndex = storage.schema.index(of: removal.className) else {
            throw SchemaError(.unknownClass, "the server has no class '\(removal.className)'")
        }
        guard let name = removal.property else {
            return try transaction { try storage.removeClass(classIndex) }
        }
        guard let property = storage.schema[classIndex].index(of: name) else {
            throw SchemaError(.unknownProperty, "the server's class '\(removal.className)' has no property '\(name)'")
        }
        try transaction { try storage.removeProperty(property, ofClass: classIndex) }
    }
}

extension SchemaChanges {
    /// One of the changes, for a message.
    fileprivate func first(in schema: Schema) -> String {
        if let index = classes.first { return "the class '\(schema[index].name)'" }
        guard let place = (properties + retypes.map(\.position) + renames.map(\.position) + indexes).first else {
            return "what the schema declares"
        }
        let declared = schema[place.classIndex]
        let property = declared.properties[place.property]
        let isNew = properties.contains(place)
        return isNew
            ? "the property '\(declared.name).\(property.name)'"
            : "'\(declared.name).\(property.name)' as this client declares it, \(property.type)"
    }
}
