public import SluiceModel
internal import SluiceStorage

/// A stored object on its way into a Swift value: its values by column of the type that reads it.
///
/// It does not retain its binding, nor the row whose cells it reads, and cannot outlive the call that lends it.
public struct RowDecoder: ~Copyable {
    /// The values by position; empty where cells are read instead.
    @usableFromInline let values: [Value]
    @usableFromInline let readsCells: Bool
    /// The row whose cells are read.
    private let unretainedCells: Unmanaged<StoredRow>?
    @usableFromInline let positions: UnsafeBufferPointer<Int>
    @usableFromInline let isPartial: Bool
    private let key: ObjectKey
    private let version: UInt64
    private let absent: PropertySet
    private let unretainedBinding: Unmanaged<ElementBinding>

    /// - Parameter binding: must live as long as the decoder.
    init(_ row: Row, _ binding: ElementBinding) {
        values = row.values
        readsCells = false
        unretainedCells = nil
        positions = binding.positions
        key = row.key
        version = row.version
        absent = binding.standIns(row.absent) { row.values[$0].isNull }
        isPartial = !absent.isEmpty
        unretainedBinding = Unmanaged.passUnretained(binding)
    }

    /// - Parameters:
    ///   - row: must be that row as long as the decoder lives.
    ///   - key: the row's key.
    ///   - binding: must live as long.
    init(_ row: borrowing StoredRow, _ key: consuming ObjectKey, _ binding: borrowing ElementBinding) throws {
        values = []
        readsCells = true
        unretainedCells = Unmanaged.passUnretained(row)
        positions = binding.positions
        self.key = key
        version = row.version
        absent = try binding.standIns(row.absent) { try row.value(of: $0).isNull }
        isPartial = !absent.isEmpty
        unretainedBinding = Unmanaged.passUnretained(binding)
    }

    /// The row as a whole. Where cells are read, one that is damaged counts as absent.
    package var row: Row {
        var row = Row(key: key, version: version, values: values, absent: absent)
        guard readsCells else { return row }
        for (position, property) in binding.classSchema.properties.enumerated() {
            let value = try? value(at: position)
            row.values.append(value ?? property.defaultValue)
            if value == nil { row.absent.insert(position) }
        }
        return row
    }

    var binding: ElementBinding { unretainedBinding.takeUnretainedValue() }

    /// The value of a column.
    ///
    /// - Throws: ``ModelError`` when the type cannot hold the stored value, or when a query excluded the property and
    ///   neither null, nor an empty collection, nor a declared default can stand for it.
    @inlinable
    public func value<Property: PropertyValue>(_ column: Int) throws -> Property {
        precondition(column >= 0 && column < positions.count)
        if isPartial { return try partialValue(column) }
        if readsCells, let value: Property = cellWithoutValue(at: positions[column]) { return value }
        guard let value = Property.decode(try value(at: positions[column]), from: self) else {
            return try adapted(column)
        }
        return value
    }

    /// What a cell has as one of the types that most properties have; nil if it is another type, or has null. What the
    /// types are the compiler knows, so nothing is compared as a row is read.
    @inlinable
    @inline(__always)
    func cellWithoutValue<Property>(at position: Int) -> Property? {
        if Property.self == String.self { return unsafeBitCast(text(at: position), to: Property?.self) }
        if Property.self == Int.self { return unsafeBitCast(integer(at: position), to: Property?.self) }
        if Property.self == Double.self { return unsafeBitCast(double(at: position), to: Property?.self) }
        return nil
    }

    @usableFromInline
    func text(at position: Int) -> String? {
        guard let unretainedCells else { return nil }
        return unretainedCells._withUnsafeGuaranteedRef { $0.text(of: position) }
    }

    @usableFromInline
    func integer(at position: Int) -> Int? {
        guard let unretainedCells else { return nil }
        return unretainedCells._withUnsafeGuaranteedRef { $0.integer(of: position).flatMap { Int(exactly: $0) } }
    }

    @usableFromInline
    func double(at position: Int) -> Double? {
        guard let unretainedCells else { return nil }
        return unretainedCells._withUnsafeGuaranteedRef { $0.double(of: position) }
    }

    /// The value of a column, as ``value(_:)``. `@Model` calls it for a type that only the compiler knows.
    @inlinable
    public func value<Property: PropertyValue>(named column: Int) throws -> Property { try value(column) }

    /// Compiles for a type that cannot be stored, so that the compiler says so once, where the property is declared.
    @_disfavoredOverload
    public func value<Property>(named column: Int) throws -> Property {
        throw ModelError(.typeMismatch, "\(Property.self) cannot be stored")
    }

    @inlinable
    func value(at position: Int) throws -> Value {
        readsCells ? try cell(at: position) : values[position]
    }

    @usableFromInline
    func cell(at position: Int) throws -> Value {
        try unretainedCells?._withUnsafeGuaranteedRef { try $0.value(of: position) } ?? .null
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
        let stored = try value(at: position)
        if absent.contains(position), !(stored.isNull && binding.nullable.contains(column)) {
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
        guard let value = Property.decode(stored, from: self) else { return try adapted(column) }
        return value
    }

    /// The value of a column whose type in the store is wider than the Swift type: a number where it is the same, the
    /// declared default for null.
    @usableFromInline
    func adapted<Property: PropertyValue>(_ column: Int) throws -> Property {
        let value = try value(at: positions[column])
        if binding.declared.indices.contains(column) {
            let declared = binding.declared[column]
            if value.isNull, binding.nullable.contains(column),
                let value = Property.decode(declared.defaultValue, from: self)
            {
                return value
            }
            let adapted = declared.type.narrowing(value) ?? declared.type.fitting(value)
            if let adapted, let value = Property.decode(adapted, from: self) { return value }
        }
        throw mismatch(column, Property.self, value)
    }

    private func mismatch(_ column: Int, _ type: (some PropertyValue).Type, _ value: Value) -> ModelError {
        let property = binding.classSchema.properties[positions[column]]
        let problem =
            value.isNull
            ? "null in one object, and the program declares it as \(type): declare it optional, or give it a default"
            : "\(property.type) in the store, and one object's value is none that \(type) has"
        return ModelError(
            .typeMismatch,
            "\(binding.classSchema.name).\(property.name) is \(problem); the error's object and value say which",
            object: Identity(className: binding.classSchema.name, key: key), property: property.name,
            value: value)
    }
}
