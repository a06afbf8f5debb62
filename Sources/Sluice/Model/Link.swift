public import SluiceModel

/// A typed reference to one object. It holds the target's identity, whether or not the target is on this device.
///
/// Two links are equal when the identities of their targets are equal. A link property has the type `Link<Dealer>?`, or
/// `Link<Dealer>` where a link without target reads better than an optional.
public struct Link<Target: Model>: Sendable {
    @usableFromInline let state: State
    @usableFromInline package let links: LinkSource?

    @usableFromInline
    enum State: Sendable {
        case none
        case key(ObjectKey)
        case excluded(ExcludedProperty)
    }

    @inlinable
    init(state: State, links: LinkSource? = nil) {
        self.state = state
        self.links = links
    }

    /// Makes a link to the object, which does not have to be stored yet.
    public init(_ target: Target) {
        self.init(state: .key(target.objectKey), links: target.objectMetadata.origin?.links)
    }

    /// Makes a link to the object with this primary key, which does not have to be here.
    public init(key: some PrimaryKeyValue) {
        self.init(state: ObjectKey(primaryKey: key.propertyValue).map(State.key) ?? .none)
    }

    /// Makes a link to the object of a keyless class with this id, which does not have to be here.
    public init(id: ObjectID) {
        self.init(state: .key(.id(id)))
    }

    package init(_ key: ObjectKey, links: LinkSource? = nil) {
        self.init(state: .key(key), links: links)
    }

    /// The primary key or id of the target; nil if the link has no target, or if a query excluded the link.
    public var key: ObjectKey? {
        if case .key(let key) = state { key } else { nil }
    }

    /// The primary key of the target as its Swift type: `try link.key(as: String.self)`; nil if the link has no target, or
    /// if a query excluded the link. It reads nothing.
    ///
    /// - Throws: ``ModelError/Code/typeMismatch`` when the key is no value of this type.
    public func key<Key: PrimaryKeyValue>(as type: Key.Type) throws -> Key? {
        guard let key else { return nil }
        guard let value = Key(objectKey: key) else {
            throw ModelError(
                .typeMismatch, "the key of this link to \(Target.className) is no \(type)", object: identity)
        }
        return value
    }

    /// The class and key of the target; nil if the link has no target, or if a query excluded the link.
    public var identity: Identity? { key.map { Identity(className: Target.className, key: $0) } }

    /// The object id of the target; nil if the link has no target, or if a query excluded the link.
    public var objectID: ObjectID? { identity?.objectID }

    /// Whether the link's value is not here because a query excluded it.
    public var isExcluded: Bool {
        if case .excluded = state { true } else { false }
    }

    /// Whether the target is on this device now. False for a link that was not read from a store.
    public var isPresent: Bool {
        guard let identity, let links else { return false }
        return (try? links.resolver.isPresent(identity)) ?? false
    }

    /// Reads the target from this device; nil if the link has no target, if the target is not here, or if a query
    /// excluded the link. It reads the disk and does not contact the server.
    ///
    /// - Throws: ``ModelError`` when the link was not read from a store, or when the target cannot be read as its type.
    public func fetch() throws -> Target? {
        if case .excluded(let property) = state { property.touch() }
        guard let key else { return nil }
        guard let links else { throw ModelError.detached(Target.className) }
        return try links.fetch(key, as: Target.self)
    }

    /// Returns the target, and fetches it from the server if it is not here or if a query excluded the link.
    ///
    /// - Parameter timeout: the longest wait without progress; nil waits without limit.
    /// - Throws: ``ModelError`` when the link has no target or was not read from a store, or when the server has no
    ///   such object for this user; ``SyncError`` when nothing arrives in time, when the store has no server, or when
    ///   the server ends syncing.
    public func resolve(timeout: Duration? = nil) async throws -> Target {
        if let target = try fetch() { return target }
        if case .excluded(let property) = state {
            guard case .link(let key) = try await property.resolve(timeout: timeout) else { throw Self.withoutTarget }
            return try await Link(key, links: property.binding.links).resolve(timeout: timeout)
        }
        guard let key, let links else { throw Self.withoutTarget }
        return try await links.resolve(key, as: Target.self, timeout: timeout)
    }

    private static var withoutTarget: ModelError {
        ModelError(
            .invalidLink, "this link to \(Target.className) has no target; give it one, or declare it as optional")
    }
}

extension Link: Hashable {
    public static func == (left: Link, right: Link) -> Bool {
        left.key == right.key && left.isExcluded == right.isExcluded
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        hasher.combine(isExcluded)
    }
}

extension Link: ExpressibleByNilLiteral {
    /// A link without target.
    public init(nilLiteral: ()) {
        self.init(state: .none)
    }
}

extension Link: CustomStringConvertible {
    /// The class and the target's key.
    public var description: String {
        switch state {
        case .none: "\(Target.className)(none)"
        case .key(let key): "\(Target.className)(\(key))"
        case .excluded: "\(Target.className)(excluded)"
        }
    }
}

extension Link: PropertyElement {
    public static var propertyType: PropertyType { .link(Target.className) }

    @inlinable
    public static var tracksExclusion: Bool { true }

    @inlinable
    public static var decodesEveryValue: Bool { true }

    public var propertyValue: Value { key.map(Value.link) ?? .null }

    public var presence: PropertyPresence {
        switch state {
        case .none: .present
        case .excluded: .excluded
        case .key(let key): Self.accepts(key) ? .present : .invalid(Self.wrongKey)
        }
    }

    @inlinable
    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Link? {
        switch value {
        case .link(let key): Link(state: .key(key), links: row.linkSource)
        case .null: Link(state: .none, links: row.linkSource)
        default: nil
        }
    }

    public static func excluded(_ property: ExcludedProperty) -> Link? {
        Link(state: .excluded(property), links: property.binding.links)
    }

    static func accepts(_ key: ObjectKey) -> Bool {
        guard case .success(let schema) = Target.modelDefinition.declared.schema else { return true }
        return schema.accepts(key)
    }

    static var wrongKey: ModelError {
        ModelError(
            .invalidLink, "a key that no \(Target.className) can have; a link needs its primary key's type, or its id")
    }
}
