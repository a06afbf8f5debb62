public import SluiceModel

/// A Swift type whose values are objects of a store: a struct with the properties of one class.
///
/// `@Model` writes the conformance; without the macro a ``KeyPathModel`` does the same with one line a property.
/// A value is one consistent version of its object; it does not change when the store does.
public protocol Model: ResultElement, LinkElement where LinkTarget == Self {
    /// The class's name in schemas and queries.
    static var className: String { get }
    /// The class's properties, with the key paths that reach them.
    static var modelDefinition: ModelDefinition<Self> { get }

    /// Whether objects of the class sync: ``SyncedClass`` unless the model says `typealias Syncing = LocalClass`, as
    /// `@Model(.local)` does.
    associatedtype Syncing: ClassSyncing = SyncedClass

    /// What the value carries besides its properties; `@Model` declares it.
    var objectMetadata: ObjectMetadata { get set }
}

extension Model {
    public static var className: String { String(describing: Self.self) }

    public static var declaredClass: DeclaredClass? { modelDefinition.declared }

    /// What names the object within its class: its primary key, or its id in a class without one.
    public var objectKey: ObjectKey { Self.modelDefinition.key(of: self) }

    /// The object's class and key.
    public var identity: Identity { Identity(className: Self.className, key: objectKey) }

    /// The object's global id. A value has it before it is stored anywhere; it never changes.
    public var objectID: ObjectID { identity.objectID }

    /// Whether the property's value is here, and not what stands for it because a query excluded it, or because it is
    /// null and the type has a default and no null.
    ///
    /// It tells how the value was read; a link assigned since is known to the link itself, see ``Link/isExcluded``.
    public func isPresent(_ property: PartialKeyPath<Self>) -> Bool {
        Self.modelDefinition.column(at: property).map { !objectMetadata.absent.contains($0) } ?? false
    }
}

/// A model without the macro: an empty initialiser, stored metadata, and a table of one line a property.
///
/// ```swift
/// struct Car: KeyPathModel {
///     var vin = ""
///     var name = "Toyota"
///     var dealer: Link<Dealer>?
///     var objectMetadata = ObjectMetadata()
///
///     static let modelDefinition = ModelDefinition(Car.self) { model in
///         model.primaryKey("vin", \.vin)
///         model.property("name", \.name)
///         model.property("dealer", \.dealer)
///     }
/// }
/// ```
///
/// A property's default is the one that an empty value has.
public protocol KeyPathModel: Model {
    /// A value with every property at its default.
    init()
}

extension KeyPathModel {
    @inlinable
    public init(from row: borrowing RowDecoder) throws {
        self.init()
        try Self.modelDefinition.decode(row, into: &self)
        objectMetadata = row.metadata
    }

    @inlinable
    public func encode(to row: inout RowEncoder) throws {
        try Self.modelDefinition.encode(self, to: &row)
    }
}
