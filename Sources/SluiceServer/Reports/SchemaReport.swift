internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews

extension Reports {
    /// The report on the schema: the classes with the numbers of their objects, and their properties.
    func schemaReport() throws -> JSONText {
        let schema = storage.schema
        let indexes = try storage.indexes()
        let positions = schema.classes.indices.filter { !schema[$0].isRetired }
        return .object([
            (
                "classes",
                .array(
                    try positions.map { index in
                        .object([
                            ("name", .string(schema[index].name)),
                            ("key", .string(schema[index].primaryKey ?? "@id")),
                            ("count", try number { try storage.count(ofClass: index) }),
                        ])
                    })
            ),
            (
                "properties",
                .array(
                    positions.flatMap { index in
                        schema[index].properties.lazy.filter { !$0.isRetired }.map { property in
                            let own = indexes.first {
                                $0.className == schema[index].name && $0.properties == [property.name]
                            }
                            let isKey = property.name == schema[index].primaryKey
                            return .object([
                                ("class", .string(schema[index].name)),
                                ("name", .string(property.name)),
                                ("type", .string(property.type.description)),
                                ("optional", .bool(property.type.isOptional)),
                                ("was", .string(property.formerNames.joined(separator: ", "))),
                                ("index", .string(isKey ? "key" : own?.origin.rawValue ?? "")),
                            ])
                        }
                    })
            ),
        ])
    }
}
