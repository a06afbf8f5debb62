public import SluiceModel

/// A model's class: its schema, and for every property the key path that reaches it.
public final class ModelDefinition<Root: Model>: Sendable {
    @usableFromInline let columns: [ModelColumn<Root>]
    private let inverses: [(keyPath: any PartialKeyPath<Root> & Sendable, declared: InverseProperty)]
    let primaryKey: (@Sendable (Root) -> ObjectKey?)?
    package let declared: DeclaredClass

    /// - Parameters:
    ///   - root: the model.
    ///   - build: adds the properties, in the order that the schema is to have.
    public convenience init(_ root: Root.Type, _ build: (inout ModelBuilder<Root>) -> Void) {
        var builder = ModelBuilder<Root>(prototype: nil)
        build(&builder)
        self.init(builder)
    }

    init(_ builder: ModelBuilder<Root>) {
        columns = builder.columns
        inverses = builder.inverses
        primaryKey = builder.primaryKey
        let properties = builder.columns.map(\.property)
        let schema = Result { () throws(SchemaError) in
            try ClassSchema(
                Root.className, primaryKey: builder.primaryKeyName, properties: properties,
                isLocal: Root.Syncing.isLocal)
        }
        declared = DeclaredClass(
            schema: schema, defaulted: PropertySet(columns.indices.filter { builder.columns[$0].isDefaulted }),
            total: PropertySet(columns.indices.filter { builder.columns[$0].decodesEveryValue }),
            inverses: builder.inverses.map(\.declared))
    }

    /// The class as data.
    ///
    /// - Throws: `SchemaError` when a name is malformed or repeated, or the primary key's type cannot be one.
    public var classSchema: ClassSchema {
        get throws { try declared.schema.get() }
    }

    /// The position of the column that a key path reaches; nil for what is not a property of the class.
    package func column(at keyPath: PartialKeyPath<Root>) -> Int? {
        columns.firstIndex { $0.keyPath == keyPath }
    }

    /// The name of the property that a key path reaches; nil for what is not a property of the class.
    package func propertyName(at keyPath: PartialKeyPath<Root>) -> String? {
        column(at: keyPath).map { columns[$0].property.name }
    }

    /// The class and the property that link, of the inverse relationship that a key path reaches.
    package func inverse(at keyPath: PartialKeyPath<Root>) -> (className: String, property: String)? {
        inverses.first { $0.keyPath == keyPath }?.declared.origin()
    }

    func key(of value: Root) -> ObjectKey {
        primaryKey?(value) ?? .id(value.objectMetadata.id)
    }

    @inlinable
    func decode(_ row: borrowing RowDecoder, into value: inout Root) throws {
        for index in columns.indices { try columns[index].decode(row, index, &value) }
    }

    @inlinable
    func encode(_ value: Root, to row: inout RowEncoder) throws {
        for index in columns.indices { try columns[index].encode(value, index, &row) }
    }
}

extension ModelDefinition where Root: KeyPathModel {
    /// - Parameters:
    ///   - root: the model, whose empty value gives the defaults.
    ///   - build: adds the properties, in the order that the schema is to have.
    public convenience init(_ root: Root.Type, _ build: (inout ModelBuilder<Root>) -> Void) {
        var builder = ModelBuilder<Root>(prototype: Root())
        build(&builder)
        self.init(builder)
    }
}
