package import SluiceModel

/// What a model's value carries besides its properties: its id, the version it was read at, and what a query excluded.
///
/// It does not stand in the way of conformances that the compiler writes. Models are equal when their properties and,
/// in a class without a primary key, their ids are: the version, and what a query excluded, do not count. `Codable`
/// leaves it out, except for the id of an object of a keyless class; what is decoded without an id is a new object, and
/// counts as whole, so a value that misses what a query excluded should not come back that way.
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
        self.init(id: Self.generator._withUnsafeGuaranteedRef { $0.next() })
    }

    /// The generator of the process, which lives as long as the process: so no value counts a reference to it.
    private static let generator = Unmanaged.passUnretained(ObjectIDGenerator.process)

    /// Metadata of a new value that has a primary key and needs no id.
    public static let keyed = ObjectMetadata(id: zero)

    /// The id that stands where a primary key names the object.
    static var zero: ObjectID { ObjectID(high: 0, low: 0) }

    package init(
        id: ObjectID, version: UInt64 = 0, absent: PropertySet = PropertySet(), origin: ElementBinding? = nil
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

extension ObjectMetadata: Codable {
    /// Metadata with the id that was encoded.
    public init(from decoder: any Decoder) throws { self.init(id: try ObjectID(from: decoder)) }

    /// Encodes the id.
    public func encode(to encoder: any Encoder) throws { try id.encode(to: encoder) }
}

/// The metadata of a model with a primary key, which `@Model` stores: all of it is equal, and none of it is encoded.
public struct KeyedMetadata: Sendable, Hashable, Codable {
    /// What the value carries besides its properties.
    public var metadata = ObjectMetadata.keyed

    /// Metadata of a new value.
    public init() {}

    /// Metadata of a new value; reads nothing.
    public init(from decoder: any Decoder) {}

    /// Encodes nothing.
    public func encode(to encoder: any Encoder) {}

    public static func == (left: KeyedMetadata, right: KeyedMetadata) -> Bool { true }

    public func hash(into hasher: inout Hasher) {}
}

/// What the `Codable` that the compiler writes for a model calls for its metadata.
extension KeyedDecodingContainer {
    /// Metadata of a decoded object of a keyless class: with the id that was encoded, or a new one where there is none.
    public func decode(_ type: ObjectMetadata.Type, forKey key: Key) throws -> ObjectMetadata {
        try decodeIfPresent(type, forKey: key) ?? ObjectMetadata()
    }

    /// Metadata of a decoded object with a primary key; nothing is read.
    public func decode(_ type: KeyedMetadata.Type, forKey key: Key) -> KeyedMetadata { KeyedMetadata() }
}

extension KeyedEncodingContainer {
    /// Leaves the metadata of an object with a primary key out.
    public mutating func encode(_ metadata: KeyedMetadata, forKey key: Key) {}
}

/// Metadata prints as nothing but an id, so that a printed model shows its properties.
extension ObjectMetadata: CustomStringConvertible {
    /// The id of an object of a keyless class.
    public var description: String { id == Self.zero ? "keyed" : id.description }
}

extension KeyedMetadata: CustomStringConvertible {
    public var description: String { "keyed" }
}
