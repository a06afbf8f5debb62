public import SluiceModel

/// Collects the properties of a model, see ``ModelDefinition``.
public struct ModelBuilder<Root: Model>: Sendable {
    @usableFromInline let prototype: Root?
    private(set) var columns: [ModelColumn<Root>] = []
    private(set) var inverses: [(keyPath: any PartialKeyPath<Root> & Sendable, declared: InverseProperty)] = []
    private(set) var primaryKeyName: String?
    private(set) var primaryKey: (@Sendable (Root) -> ObjectKey?)?

    init(prototype: Root?) {
        self.prototype = prototype
    }

    /// Adds the property that names objects within their class.
    @inlinable
    public mutating func primaryKey<Key: PrimaryKeyValue>(
        _ name: String, _ keyPath: any KeyPath<Root, Key> & Sendable, was formerNames: [String] = []
    ) {
        add(.stored(Property(name, Key.propertyType, was: formerNames), keyPath, isDefaulted: false))
        setPrimaryKey(name) { ObjectKey(primaryKeyValue: $0[keyPath: keyPath]) }
    }

    /// Adds a property.
    ///
    /// - Parameters:
    ///   - name: its name in schemas and queries.
    ///   - keyPath: where it is in the value.
    ///   - defaultValue: what objects have that were made without it. A ``KeyPathModel`` has it in its empty value.
    ///   - isIndexed: whether queries by this property should find an index.
    ///   - formerNames: what it was called before, in schemas and queries.
    @inlinable
    public mutating func property<Value: PropertyValue>(
        _ name: String, _ keyPath: any KeyPath<Root, Value> & Sendable, default defaultValue: Value? = nil,
        isIndexed: Bool = false, was formerNames: [String] = []
    ) {
        let value = (defaultValue ?? prototype?[keyPath: keyPath])?.propertyValue
        let property = Property(name, Value.propertyType, default: value, isIndexed: isIndexed, was: formerNames)
        add(.stored(property, keyPath, isDefaulted: defaultValue != nil))
    }

    /// Tells, at the property's line, what a type lacks that cannot be stored.
    @available(
        *, unavailable,
        message: "the property's type cannot be stored; an enum with raw values can when it conforms to PropertyElement"
    )
    public mutating func property<Value>(
        _ name: String, _ keyPath: any KeyPath<Root, Value> & Sendable, default defaultValue: Value? = nil,
        isIndexed: Bool = false, was formerNames: [String] = []
    ) {}

    /// Adds an inverse relationship, which takes no place in the store.
    ///
    /// - Parameters:
    ///   - name: its name in queries.
    ///   - keyPath: where it is in the value.
    ///   - property: the property of the other model whose links lead here.
    public mutating func inverse<Source: Model, Value: LinkPath>(
        _ name: String, _ keyPath: any KeyPath<Root, Backlinks<Source>> & Sendable,
        through property: any KeyPath<Source, Value> & Sendable
    ) where Value.LinkTarget == Root {
        let property: any PartialKeyPath<Source> & Sendable = property
        let declared = InverseProperty(name: name) {
            (Source.className, Source.modelDefinition.nameInQuery(at: property))
        }
        inverses.append((keyPath, declared))
    }

    @usableFromInline
    mutating func add(_ column: ModelColumn<Root>) { columns.append(column) }

    @usableFromInline
    mutating func setPrimaryKey(_ name: String, _ key: @escaping @Sendable (Root) -> ObjectKey?) {
        primaryKeyName = name
        primaryKey = key
    }
}

extension ObjectKey {
    /// The key that a value of a primary-key property makes.
    @usableFromInline
    init?(primaryKeyValue value: some PrimaryKeyValue) {
        self.init(primaryKey: value.propertyValue)
    }
}
