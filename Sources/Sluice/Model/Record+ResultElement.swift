public import SluiceModel

extension Record: ResultElement {
    public static var declaredClass: DeclaredClass? { nil }

    public var objectMetadata: ObjectMetadata {
        let id: ObjectID = if case .id(let id) = key { id } else { ObjectMetadata.zero }
        return ObjectMetadata(id: id, version: row.version)
    }

    public init(from row: borrowing RowDecoder) {
        self.init(classSchema: row.binding.classSchema, row: row.row)
    }

    /// - Throws: ``ModelError`` when the store's class lacks a property of the record's.
    public func encode(to encoder: inout RowEncoder) throws {
        for (index, property) in classSchema.properties.enumerated() where !row.absent.contains(index) {
            guard let position = encoder.binding.classSchema.index(of: property.name) else {
                throw ModelError(
                    .notInSchema, MissingNames.text(property: property.name, of: classSchema.name))
            }
            let stored = encoder.binding.classSchema.properties[position]
            guard let value = property.type == stored.type ? row.values[index] : stored.type.fitting(row.values[index])
            else {
                throw ModelError(
                    .typeMismatch,
                    "\(classSchema.name).\(property.name) is \(stored.type) in the store by now, which cannot hold the value; read the record again"
                )
            }
            encoder.set(position: position, value)
        }
    }
}
