/// What a merge of one schema into another added.
package struct SchemaAdditions: Hashable, Sendable {
    /// The positions of new classes.
    package var classes: [Int] = []
    /// New properties of existing classes.
    package var properties: [PropertyPosition] = []
    /// Existing properties that became indexed.
    package var indexes: [PropertyPosition] = []

    package struct PropertyPosition: Hashable, Sendable {
        package var classIndex: Int
        package var property: Int
    }

    package var isEmpty: Bool { classes.isEmpty && properties.isEmpty && indexes.isEmpty }
}

extension Schema {
    /// Adds what `other` declares and this schema lacks: classes, properties and indexes. A name that both declare must
    /// agree in its type and in how objects are identified. Existing properties keep their defaults.
    ///
    /// - Parameters:
    ///   - other: the schema to merge into this one.
    ///   - sides: the names of this schema and the other one in error messages.
    /// - Returns: what was added.
    /// - Throws: ``SchemaError``, whose message names both sides; this schema is then unchanged.
    package mutating func merge(
        _ other: Schema, sides: (own: String, other: String) = ("the store", "the model")
    ) throws(SchemaError) -> SchemaAdditions {
        var merged = self
        var additions = SchemaAdditions()
        for declared in other.classes where !declared.isRetired {
            guard let index = merged.index(of: declared.name) else {
                additions.classes.append(merged.classes.count)
                merged.add(try declared.withoutRetired())
                continue
            }
            try Self.checkIdentity(merged[index], declared, sides: sides)
            for property in declared.properties where !property.isRetired {
                guard let position = merged[index].index(of: property.name) else {
                    additions.properties.append(
                        .init(classIndex: index, property: merged[index].properties.count))
                    try merged.append(property, toClass: index)
                    continue
                }
                let own = merged[index].properties[position]
                guard own.type == property.type else {
                    throw SchemaError(
                        .incompatible,
                        "\(declared.name).\(property.name) is \(own.type) in \(sides.own) and \(property.type) in \(sides.other); "
                            + "a property's type cannot change: add a property of another name")
                }
                if property.isIndexed, !own.isIndexed {
                    additions.indexes.append(.init(classIndex: index, property: position))
                    merged.setIndexed(property: position, ofClass: index)
                }
            }
        }
        try merged.check()
        self = merged
        return additions
    }

    private static func checkIdentity(
        _ own: ClassSchema, _ other: ClassSchema, sides: (own: String, other: String)
    ) throws(SchemaError) {
        guard own.primaryKey != other.primaryKey else { return }
        func identity(_ declared: ClassSchema) -> String {
            declared.primaryKey.map { "the primary key '\($0)'" } ?? "no primary key"
        }
        throw SchemaError(
            .incompatible,
            "\(own.name) has \(identity(own)) in \(sides.own) and \(identity(other)) in \(sides.other); "
                + "how objects are identified cannot change: use a class of another name")
    }
}

extension ClassSchema {
    /// The same class without the positions of removed properties.
    fileprivate func withoutRetired() throws(SchemaError) -> ClassSchema {
        if retiredProperties.isEmpty { return self }
        return try ClassSchema(name, primaryKey: primaryKey, properties: properties.filter { !$0.isRetired })
    }
}
