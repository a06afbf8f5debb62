extension Schema {
    /// Adds what `other` declares and this schema lacks: classes, properties, indexes, new names of properties and
    /// wider types. What only this schema has stays, and existing properties keep their defaults.
    ///
    /// - Parameters:
    ///   - other: the schema to merge into this one.
    ///   - sides: the names of this schema and the other one in error messages.
    /// - Returns: what changed.
    /// - Throws: ``SchemaError``, whose message names both sides; this schema is then unchanged.
    @discardableResult
    package mutating func merge(
        _ other: Schema, sides: (own: String, other: String) = ("the store", "the model")
    ) throws(SchemaError) -> SchemaChanges {
        var merger = SchemaMerger(self, other: other, rule: .declaration(own: sides.own, other: sides.other))
        try merger.run()
        self = merger.merged
        return merger.changes
    }

    /// Takes in a server's schema. The server's names count; a property that it has with an unrelated type begins anew,
    /// since it was removed there and declared again.
    ///
    /// - Returns: what changed.
    /// - Throws: ``SchemaError`` when objects are identified in another way there; this schema is then unchanged.
    package mutating func adopt(_ server: Schema) throws(SchemaError) -> SchemaChanges {
        var merger = SchemaMerger(self, other: server, rule: .adoption)
        try merger.run()
        self = merger.merged
        return merger.changes
    }
}

/// Takes one schema into another, property by property.
private struct SchemaMerger {
    enum Rule {
        /// A program declares what it needs. Names stay, unless the program has a new one; types only become wider.
        case declaration(own: String, other: String)
        /// A store follows its server.
        case adoption

        var sides: (own: String, other: String) {
            switch self {
            case .declaration(let own, let other): (own, other)
            case .adoption: ("this store", "the server")
            }
        }

        var isAdoption: Bool { if case .adoption = self { true } else { false } }
    }

    private(set) var merged: Schema
    private(set) var changes = SchemaChanges()
    private let other: Schema
    private let rule: Rule

    init(_ own: Schema, other: Schema, rule: Rule) {
        merged = own
        self.other = other
        self.rule = rule
    }

    mutating func run() throws(SchemaError) {
        for declared in other.classes where !declared.isRetired {
            guard let index = merged.index(of: declared.name) else {
                changes.classes.append(merged.classes.count)
                merged.add(try declared.withoutRetired())
                continue
            }
            try checkSide(merged[index], declared)
            try checkIdentity(merged[index], declared)
            var taken: Set<Int> = []
            for property in declared.properties where !property.isRetired {
                try take(property, intoClass: index, &taken)
            }
        }
        try merged.check()
    }

    private mutating func take(
        _ property: Property, intoClass index: Int, _ taken: inout Set<Int>
    ) throws(SchemaError) {
        let own = merged[index]
        guard let slot = own.index(of: property), !(rule.isAdoption && taken.contains(slot)) else {
            // The server has two properties where this store knew one by two names.
            if rule.isAdoption { merged.forgetFormerName(property.name, ofClass: index) }
            taken.insert(own.properties.count)
            changes.properties.append(.init(classIndex: index, property: own.properties.count))
            return try merged.append(property, toClass: index)
        }
        guard taken.insert(slot).inserted else {
            throw conflict(
                own,
                "has one property for two of \(rule.sides.other), '\(property.name)' and another that it was; "
                    + "a property cannot become two: give one of them a name that is new")
        }
        let position = SchemaChanges.PropertyPosition(classIndex: index, property: slot)
        if !rule.isAdoption { try checkFormerNames(of: property, slot: slot, own) }
        let before = own.properties[slot]
        if merged.rename(position, as: property, takesName: rule.isAdoption || own.index(of: property.name) == nil) {
            changes.renames.append(.init(position: position, name: before.name))
        }
        try widen(position, before, to: property, isKey: slot == own.primaryKeyIndex)
        if property.isIndexed, !before.isIndexed {
            changes.indexes.append(position)
            merged.setIndexed(property: slot, ofClass: index)
        }
    }

    private mutating func widen(
        _ position: SchemaChanges.PropertyPosition, _ own: Property, to property: Property, isKey: Bool
    ) throws(SchemaError) {
        guard own.type != property.type else { return }
        let joined = own.type.joined(with: property.type)
        if let joined, !isKey || joined == own.type {
            guard joined != own.type else { return }
            merged.setType(joined, of: position)
            changes.retypes.append(.init(position: position, type: own.type))
        } else if rule.isAdoption, !isKey {
            merged.replace(position, by: property)
            changes.replacements.append(position)
        } else {
            let remedy =
                isKey
                ? "the type of a primary key cannot change: use a class of another name"
                : "a property may become optional, an int a double or decimal, and a float a double; for another type "
                    + "add a property of another name"
            throw SchemaError(
                .incompatible,
                "\(merged[position.classIndex].name).\(property.name) is \(own.type) in \(rule.sides.own) and "
                    + "\(property.type) in \(rule.sides.other); \(remedy)")
        }
    }

    private func checkFormerNames(of property: Property, slot: Int, _ own: ClassSchema) throws(SchemaError) {
        for name in property.formerNames {
            guard let other = own.index(of: name), other != slot else { continue }
            throw conflict(
                own,
                "'\(property.name)' was '\(name)' in \(rule.sides.other), and \(rule.sides.own) has both; "
                    + "two properties cannot become one: declare both, or remove one from \(rule.sides.own)")
        }
    }

    private func conflict(_ own: ClassSchema, _ problem: String) -> SchemaError {
        SchemaError(.incompatible, "\(own.name): \(problem)")
    }

    private func checkSide(_ own: ClassSchema, _ other: ClassSchema) throws(SchemaError) {
        guard own.isLocal != other.isLocal else { return }
        func side(_ declared: ClassSchema) -> String { declared.isLocal ? "is local" : "syncs" }
        let remedy =
            rule.isAdoption
            ? "give the local class another name, such as @Model(\"Local\(own.name)\", .local)"
            : "a class cannot change sides: give the new one another name, such as "
                + "\(other.isLocal ? "@Model(\"Local\(own.name)\", .local)" : "@Model(\"Synced\(own.name)\")"), and "
                + "copy the objects, or remove the store's file if nothing in it is needed"
        throw SchemaError(
            .localChange,
            "\(own.name) \(side(own)) in \(rule.sides.own) and \(side(other)) in \(rule.sides.other); \(remedy)")
    }

    private func checkIdentity(_ own: ClassSchema, _ other: ClassSchema) throws(SchemaError) {
        let isSame =
            switch (own.primaryKeyIndex, other.primaryKeyIndex) {
            case (nil, nil): true
            case (let key?, let otherKey?): own.index(of: other.properties[otherKey]) == key
            default: false
            }
        guard !isSame else { return }
        func identity(_ declared: ClassSchema) -> String {
            declared.primaryKey.map { "the primary key '\($0)'" } ?? "no primary key"
        }
        throw SchemaError(
            .incompatible,
            "\(own.name) has \(identity(own)) in \(rule.sides.own) and \(identity(other)) in \(rule.sides.other); "
                + "how objects are identified cannot change: use a class of another name")
    }
}

extension ClassSchema {
    /// The same class without the positions of removed properties.
    fileprivate func withoutRetired() throws(SchemaError) -> ClassSchema {
        if retiredProperties.isEmpty { return self }
        return try ClassSchema(
            name, primaryKey: primaryKey, properties: properties.filter { !$0.isRetired }, isLocal: isLocal)
    }
}
