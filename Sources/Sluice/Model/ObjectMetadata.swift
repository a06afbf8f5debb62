package import SluiceModel

/// What a model's value carries besides its properties: its id, the version it was read at, and what a query excluded.
///
/// Metadata is equal when the ids are, so that a model can be `Equatable` or `Hashable` by its properties.
public struct ObjectMetadata: Sendable {
    /// The id of an object of a keyless class; zero where a primary key names the object.
    package let id: ObjectID
    /// The server version that last touched the object when it was read; 0 for a new value.
    package let version: UInt64
    /// The columns of the model whose values are not here.
    package let absent: PropertySet
    /// Where the value was read; nil for a new value.
    package let origin: ElementBinding?

    /// Metadata of a new value, with a fresh id.
    public init() {
        self.init(id: ObjectIDGenerator.process.next())
    }

    /// Metadata of a new value that has a primary key and needs no id.
    public static let keyed = ObjectMetadata(id: zero)

    /// The id that stands where a primary key names the object.
    static var zero: ObjectID { ObjectID(high: 0, low: 0) }

    package init(
        id: ObjectID, version: UInt64 = 0, absent: PropertySet = [], origin: ElementBinding? = nil
    ) {
        self.id = id
        self.version = version
        self.absent = absent
        self.origin = origin
    }
}

extension ObjectMetadata: Hashable {
    public static func == (left: ObjectMetadata, right: ObjectMetadata) -> Bool { left.id == right.id }

    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
