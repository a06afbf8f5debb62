package import SluiceModel

/// A Swift value on its way into a row: takes the values by column of the type that writes it.
public struct RowEncoder: Sendable {
    package let binding: ElementBinding
    private let metadata: ObjectMetadata
    private var values: [Value]
    private var absent: PropertySet

    package init(_ binding: ElementBinding, metadata: ObjectMetadata) {
        self.binding = binding
        self.metadata = metadata
        values = binding.classSchema.properties.map(\.defaultValue)
        absent = PropertySet(all: values.count)
    }

    /// Puts the value of a column.
    ///
    /// A property that was excluded when the value was read stays absent, unless it was given another value since.
    /// - Throws: ``ModelError`` when the value cannot be stored.
    public mutating func set<Property: PropertyValue>(_ column: Int, _ value: Property) throws {
        let position = binding.positions[column]
        switch value.presence {
        case .present: break
        case .excluded: return
        case .invalid(let error):
            let property = binding.classSchema.properties[position]
            throw ModelError(error.code, "\(binding.classSchema.name).\(property.name): \(error.message)")
        }
        let stored = value.propertyValue
        let wasAbsent = metadata.absent.contains(column) && !Property.tracksExclusion
        if wasAbsent, stored == values[position] { return }
        set(position: position, stored)
    }

    mutating func set(position: Int, _ value: Value) {
        values[position] = value
        absent.remove(position)
    }

    /// The row so far.
    package var row: Row {
        let key = binding.classSchema.primaryKeyIndex.flatMap { ObjectKey(primaryKey: values[$0]) }
        return Row(key: key ?? .id(metadata.id), version: metadata.version, values: values, absent: absent)
    }
}
