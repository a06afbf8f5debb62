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
    /// Whether a client declares what the schema does not have, or what contradicts it, as far as this server has followed
    /// the journal.
    func mayLack(_ schema: Schema) -> Bool {
        do { return try extended(by: schema) != nil } catch { return true }
    }

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
    /// - Parameter mayAdd: says whether the client may change the schema at the present state. It is asked before
    ///   anything is made for the client, and again in the state to which the change is added.
    /// - Throws: ``SchemaError``, and ``StorageError``; what `mayAdd` throws.
    func extendSchema(by schema: Schema, mayAdd: () throws -> Bool) throws -> SchemaChange {
        guard mayLack(schema) else { return .none }
        // Others may have added it, removed what it contradicts, or given the right.
        try catchUpToRefuse()
        guard try permitted(schema, mayAdd) != nil else { return .none }
        try becomeDurable()
        return try transaction {
            // Others may have added the same, or something else, or have taken the right away.
            guard let changes = try permitted(schema, mayAdd) else { return .none }
            _ = try storage.merge(schema, sides: ("the server", "this client"))
            return changes.reshapes ? .reshaped : .grown
        }
    }

    /// What a client adds to the schema; nil if that is nothing.
    ///
    /// - Throws: ``SchemaError`` when the client may not add it; ``StorageError`` when nobody may.
    private func permitted(_ schema: Schema, _ mayAdd: () throws -> Bool) throws -> SchemaChanges? {
        guard let (merged, changes) = try extended(by: schema) else { return nil }
        if let damage = storage.damage { throw damage }
        guard try mayAdd() else {
            throw SchemaError(
                .notAllowed,
                "the server does not have \(changes.first(in: merged)), and this session may not change its schema")
        }
        try checkQuotas(merged)
        return changes
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
    /// - Parameter mayChange: says whether the client may change the schema at the present state.
    /// - Throws: ``SchemaError``, and ``StorageError``; what `mayChange` throws.
    func remove(_ removal: ClientMessage.Removal, mayChange: () throws -> Bool) throws {
        // Others may have added or emptied what is to be removed, or given the right.
        try catchUpToRefuse()
        _ = try place(of: removal, mayChange)
        try transaction {
            // Others may have removed it, moved its position, or have taken the right away.
            let (classIndex, property) = try place(of: removal, mayChange)
            guard let property else { return try storage.removeClass(classIndex) }
            try storage.removeProperty(property, ofClass: classIndex)
        }
    }

    /// What a client removes, in the present schema.
    ///
    /// - Throws: ``SchemaError`` when there is no such thing, or the client may not remove it.
    private func place(
        of removal: ClientMessage.Removal, _ mayChange: () throws -> Bool
    ) throws -> (classIndex: Int, property: Int?) {
        guard try mayChange() else {
            throw SchemaError(.notAllowed, "this session may not change the server's schema")
        }
        guard let classIndex = storage.schema.index(of: removal.className) else {
            throw SchemaError(.unknownClass, "the server has no class '\(removal.className)'")
        }
        guard let name = removal.property else { return (classIndex, nil) }
        guard let property = storage.schema[classIndex].index(of: name) else {
            throw SchemaError(.unknownProperty, "the server's class '\(removal.className)' has no property '\(name)'")
        }
        return (classIndex, property)
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
