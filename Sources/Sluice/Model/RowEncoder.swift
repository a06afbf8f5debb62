public import SluiceModel

/// A Swift value on its way into a row: takes the values by column of the type that writes it.
public struct RowEncoder: Sendable {
    package let binding: ElementBinding
    private let metadata: ObjectMetadata
    @usableFromInline let isPartial: Bool
    /// The values so far. At the positions in `absent` there may be any.
    private var values: [Value]
    private var absent: PropertySet

    /// - Parameter storage: values of a row that nobody needs any more. If nobody else has them, the new row is made in
    ///   their place, and takes no memory.
    package init(_ binding: ElementBinding, metadata: ObjectMetadata, storage: [Value] = []) {
        self.binding = binding
        self.metadata = metadata
        isPartial = !metadata.absent.isEmpty
        values = storage.count == binding.defaultValues.count ? storage : binding.defaultValues
        absent = binding.allPositions
    }

    /// Puts the value of a column.
    ///
    /// A property that was excluded when the value was read, or null where the type has no null, stays absent, unless
    /// it was given another value since.
    /// - Throws: ``ModelError`` when the value cannot be stored.
    @inlinable
    public mutating func set<Property: PropertyValue>(_ column: Int, _ value: Property) throws {
        switch value.presence {
        case .present: try put(column, value.propertyValue, isKnownPresent: !isPartial || Property.tracksExclusion)
        case .excluded: return
        case .invalid(let error): throw located(error, column)
        }
    }

    /// Puts the value of a column, as ``set(_:_:)``. `@Model` calls it for a type that only the compiler knows.
    @inlinable
    public mutating func set<Property: PropertyValue>(named column: Int, _ value: Property) throws {
        try set(column, value)
    }

    /// Compiles for a type that cannot be stored, so that the compiler says so once, where the property is declared.
    @_disfavoredOverload
    public mutating func set<Property>(named column: Int, _ value: Property) throws {
        throw ModelError(.typeMismatch, "\(Property.self) cannot be stored")
    }

    @usableFromInline
    mutating func put(_ column: Int, _ value: Value, isKnownPresent: Bool) throws {
        let position = binding.positions[column]
        let value = try binding.widened.contains(column) ? fitting(value, column) : value
        if !isKnownPresent, metadata.absent.contains(column), isStandIn(value, column) { return }
        set(position: position, value)
    }

    /// Whether a value is what reading gave in the place of one that was not there.
    private func isStandIn(_ value: Value, _ column: Int) -> Bool {
        value.isIdentical(to: binding.defaultValues[binding.positions[column]])
            || binding.nullable.contains(column) && value.isIdentical(to: binding.declared[column].defaultValue)
    }

    private func fitting(_ value: Value, _ column: Int) throws -> Value {
        let type = binding.classSchema.properties[binding.positions[column]].type
        guard let value = type.fitting(value) else {
            throw located(
                ModelError(.typeMismatch, "the store has it as \(type), which does not hold the value exactly"), column)
        }
        return value
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

    /// The row, once every value is put.
    package mutating func finish() -> Row {
        for position in absent { values[position] = binding.defaultValues[position] }
        let key = binding.classSchema.primaryKeyIndex.flatMap { ObjectKey(primaryKey: values[$0]) }
        return Row(key: key ?? .id(metadata.id), version: metadata.version, values: values, absent: absent)
    }
}
