public import SluiceModel

/// A Swift value on its way into a row: takes the values by column of the type that writes it.
public struct RowEncoder: Sendable {
    package let binding: ElementBinding
    private let metadata: ObjectMetadata
    @usableFromInline let isPartial: Bool
    private var values: [Value]
    private var absent: PropertySet

    package init(_ binding: ElementBinding, metadata: ObjectMetadata) {
        self.binding = binding
        self.metadata = metadata
        isPartial = !metadata.absent.isEmpty
        values = binding.defaultValues
        absent = binding.allPositions
    }

    /// Puts the value of a column.
    ///
    /// A property that was excluded when the value was read stays absent, unless it was given another value since.
    /// - Throws: ``ModelError`` when the value cannot be stored.
    @inlinable
    public mutating func set<Property: PropertyValue>(_ column: Int, _ value: Property) throws {
        switch value.presence {
        case .present: put(column, value.propertyValue, isKnownPresent: !isPartial || Property.tracksExclusion)
        case .excluded: return
        case .invalid(let error): throw located(error, column)
        }
    }

    @usableFromInline
    mutating func put(_ column: Int, _ value: Value, isKnownPresent: Bool) {
        let position = binding.positions[column]
        if !isKnownPresent, metadata.absent.contains(column), value.isIdentical(to: values[position]) { return }
        set(position: position, value)
    }

    mutating func set(position: Int, _ value: Value) {
        values[position] = value
        absent.remove(position)
    }

    @usableFromInline
    func located(_ error: ModelError, _ column: Int) -> ModelError {
        let property = binding.classSchema.properties[binding.positions[column]]
        return ModelError(error.code, "\(binding.classSchema.name).\(property.name): \(error.message)")
    }

    /// The row so far.
    package var row: Row {
        let key = binding.classSchema.primaryKeyIndex.flatMap { ObjectKey(primaryKey: values[$0]) }
        return Row(key: key ?? .id(metadata.id), version: metadata.version, values: values, absent: absent)
    }
}
