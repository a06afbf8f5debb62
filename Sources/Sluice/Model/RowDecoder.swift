public import SluiceModel

/// A stored object on its way into a Swift value: its values by column of the type that reads it.
///
/// It does not retain its binding, and cannot outlive the call that lends it.
public struct RowDecoder: ~Copyable {
    @usableFromInline let values: [Value]
    @usableFromInline let positions: UnsafeBufferPointer<Int>
    @usableFromInline let isPartial: Bool
    private let key: ObjectKey
    private let version: UInt64
    private let absent: PropertySet
    private let unretainedBinding: Unmanaged<ElementBinding>

    /// - Parameter binding: must live as long as the decoder.
    init(_ row: Row, _ binding: ElementBinding) {
        values = row.values
        positions = binding.positions
        isPartial = !row.absent.isEmpty
        key = row.key
        version = row.version
        absent = row.absent
        unretainedBinding = Unmanaged.passUnretained(binding)
    }

    package var row: Row { Row(key: key, version: version, values: values, absent: absent) }

    var binding: ElementBinding { unretainedBinding.takeUnretainedValue() }

    /// The value of a column.
    ///
    /// - Throws: ``ModelError`` when the type cannot hold the stored value, or when a query excluded the property and
    ///   neither null, nor an empty collection, nor a declared default can stand for it.
    @inlinable
    public func value<Property: PropertyValue>(_ column: Int) throws -> Property {
        precondition(column >= 0 && column < positions.count)
        if isPartial { return try partialValue(column) }
        guard let value = Property.decode(values[positions[column]], from: self) else {
            throw mismatch(column, Property.self)
        }
        return value
    }

    /// What the value carries besides its properties.
    public var metadata: ObjectMetadata {
        let id: ObjectID = if case .id(let id) = key { id } else { ObjectMetadata.zero }
        return ObjectMetadata(
            id: id, version: version,
            absent: isPartial ? binding.columns(of: absent) : absent, origin: binding)
    }

    @usableFromInline var linkSource: LinkSource? { binding.links }

    @usableFromInline
    func partialValue<Property: PropertyValue>(_ column: Int) throws -> Property {
        let position = positions[column]
        if absent.contains(position) {
            let name = binding.classSchema.properties[position].name
            let excluded = ExcludedProperty(
                of: Identity(className: binding.classSchema.name, key: key), named: name,
                binding: binding)
            if let value = Property.excluded(excluded) { return value }
            guard binding.replaceable.contains(column) else {
                throw ModelError(
                    .excluded,
                    "\(binding.classSchema.name).\(name) was excluded by the query that brought this object, and it has no default; "
                        + "exclude something else, give it a default, or make it optional",
                    object: excluded.object, property: name)
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
        let property = binding.classSchema.properties[positions[column]]
        return ModelError(
            .typeMismatch,
            "\(binding.classSchema.name).\(property.name) is \(property.type) in the store, and one object's value is none "
                + "that \(type) has; the error's object and value say which",
            object: Identity(className: binding.classSchema.name, key: key), property: property.name,
            value: values[positions[column]])
    }
}
