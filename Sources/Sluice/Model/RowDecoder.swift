public import SluiceModel

/// A stored object on its way into a Swift value: its values by column of the type that reads it.
public struct RowDecoder: Sendable {
    @usableFromInline let values: [Value]
    @usableFromInline let binding: ElementBinding
    @usableFromInline let isPartial: Bool
    package let row: Row

    package init(_ row: Row, _ binding: ElementBinding) {
        self.row = row
        self.binding = binding
        values = row.values
        isPartial = !row.absent.isEmpty
    }

    /// The value of a column.
    ///
    /// - Throws: ``ModelError`` when the type cannot hold the stored value, or when a query excluded the property and
    ///   neither null, nor an empty collection, nor a declared default can stand for it.
    @inlinable
    public func value<Property: PropertyValue>(_ column: Int) throws -> Property {
        if isPartial { return try partialValue(column) }
        guard let value = Property.decode(values[binding.positions[column]], from: self) else {
            throw mismatch(column, Property.self)
        }
        return value
    }

    /// What the value carries besides its properties.
    public var metadata: ObjectMetadata {
        let id: ObjectID = if case .id(let id) = row.key { id } else { ObjectMetadata.keyed.id }
        return ObjectMetadata(
            id: id, version: row.version, absent: binding.columns(of: row.absent), origin: binding)
    }

    @usableFromInline
    func partialValue<Property: PropertyValue>(_ column: Int) throws -> Property {
        let position = binding.positions[column]
        if row.absent.contains(position) {
            let name = binding.classSchema.properties[position].name
            let excluded = ExcludedProperty(
                of: Identity(className: binding.classSchema.name, key: row.key), named: name, binding: binding)
            if let value = Property.excluded(excluded) { return value }
            guard binding.replaceable.contains(column) else {
                throw ModelError(
                    .excluded,
                    "\(binding.classSchema.name).\(name) was excluded by the query that brought this object, and it has no default; "
                        + "exclude something else, give it a default, or make it optional")
            }
            excluded.touch(isLink: false)
        }
        guard let value = Property.decode(values[position], from: self) else {
            throw mismatch(column, Property.self)
        }
        return value
    }

    @usableFromInline
    func mismatch(_ column: Int, _ type: (some PropertyValue).Type) -> ModelError {
        let position = binding.positions[column]
        let property = binding.classSchema.properties[position]
        return ModelError(
            .typeMismatch,
            "\(binding.classSchema.name).\(property.name) is \(property.type) in the store, and the value there is none that \(type) can hold"
        )
    }
}
