internal import SluiceModel

/// Collects the properties of a model, see ``ModelDefinition``.
public struct ModelBuilder<Root: Model>: Sendable {
    private let prototype: Root?
    private(set) var columns: [ModelColumn<Root>] = []
    private(set) var primaryKeyName: String?
    private(set) var primaryKey: (@Sendable (Root) -> ObjectKey?)?

    init(prototype: Root?) {
        self.prototype = prototype
    }

    /// Adds the property that names objects within their class.
    public mutating func primaryKey<Key: PrimaryKeyValue>(
        _ name: String, _ keyPath: any KeyPath<Root, Key> & Sendable
    ) {
        add(name, keyPath, default: nil, isDefaulted: false, isIndexed: false)
        primaryKeyName = name
        primaryKey = { ObjectKey(primaryKey: $0[keyPath: keyPath].propertyValue) }
    }

    /// Adds a property.
    ///
    /// - Parameters:
    ///   - name: its name in schemas and queries.
    ///   - keyPath: where it is in the value.
    ///   - defaultValue: what objects have that were made without it. A ``KeyPathModel`` has it in its empty value.
    ///   - isIndexed: whether queries by this property should find an index.
    public mutating func property<Property: PropertyValue>(
        _ name: String, _ keyPath: any KeyPath<Root, Property> & Sendable, default defaultValue: Property? = nil,
        isIndexed: Bool = false
    ) {
        let value = (defaultValue ?? prototype?[keyPath: keyPath])?.propertyValue
        add(name, keyPath, default: value, isDefaulted: defaultValue != nil, isIndexed: isIndexed)
    }

    private mutating func add<Value: PropertyValue>(
        _ name: String, _ keyPath: any KeyPath<Root, Value> & Sendable, default defaultValue: SluiceModel.Value?,
        isDefaulted: Bool, isIndexed: Bool
    ) {
        // The same key path, which is Sendable; a cast cannot say so.
        nonisolated(unsafe) let writable = keyPath as? WritableKeyPath<Root, Value>
        columns.append(
            ModelColumn(
                property: Property(name, Value.propertyType, default: defaultValue, isIndexed: isIndexed),
                keyPath: keyPath, isDefaulted: isDefaulted,
                encode: { value, column, row in try row.set(column, value[keyPath: keyPath]) },
                decode: { row, column, value in
                    guard let writable else {
                        throw ModelError(
                            .typeMismatch, "\(Root.className).\(name) is constant; a KeyPathModel's properties are 'var'")
                    }
                    value[keyPath: writable] = try row.value(column)
                }))
    }
}
