package import SluiceModel

/// What a query's results can consist of: models, and `Record` for objects without a Swift type.
public protocol ResultElement: Sendable {
    /// The class that the type declares; nil where a store's schema is the only one.
    static var declaredClass: DeclaredClass? { get }

    /// What the value carries besides its properties.
    var objectMetadata: ObjectMetadata { get }

    /// Reads a value from a row. The same row gives the same value each time.
    ///
    /// - Throws: ``ModelError`` when a stored value does not fit its property, or was excluded and nothing can stand
    ///   for it, and for no other reason.
    init(from row: borrowing RowDecoder) throws

    /// Writes the properties into a row.
    ///
    /// - Throws: ``ModelError`` when a value cannot be stored.
    func encode(to row: inout RowEncoder) throws
}

extension ResultElement {
    /// The value of a row of the bound class.
    package static func decode(_ row: Row, _ binding: ElementBinding) throws -> Self {
        try withExtendedLifetime(binding) { try Self(from: RowDecoder(row, binding)) }
    }

    /// The value as a row of the bound class. What the value does not have, because a query excluded it or the type
    /// does not declare it, is absent.
    package func encoded(for binding: ElementBinding) throws -> Row {
        var row = RowEncoder(binding, metadata: objectMetadata)
        try encode(to: &row)
        return row.finish()
    }
}

/// The class that a Swift type declares.
public struct DeclaredClass: Sendable {
    /// The schema, or what is wrong with it.
    package let schema: Result<ClassSchema, SchemaError>
    /// The properties whose declaration gives a default, whatever its value.
    package let defaulted: PropertySet
    /// The properties whose Swift type has every value that the schema allows.
    package let total: PropertySet
    /// The properties that follow links backwards; no part of the schema.
    package let inverses: [InverseProperty]

    package init(
        schema: Result<ClassSchema, SchemaError>, defaulted: PropertySet, total: PropertySet = [],
        inverses: [InverseProperty] = []
    ) {
        self.schema = schema
        self.defaulted = defaulted
        self.total = total
        self.inverses = inverses
    }
}
