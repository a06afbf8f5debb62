public import SluiceModel

/// A typed, ordered to-many reference: a collection of links, whose targets do not have to be on this device.
///
/// If a query excluded the property, the collection reads as empty and ``isExcluded`` is true. Assigning a new value
/// then replaces it; changing its elements makes the write of the object throw.
public struct Links<Target: Model>: Sendable {
    var keys: [ObjectKey]
    var links: LinkSource?
    let excludedProperty: ExcludedProperty?
    /// Why the value cannot be stored, after an invalid change.
    var fault: ModelError?

    init(keys: [ObjectKey], links: LinkSource?, excluded: ExcludedProperty? = nil) {
        self.keys = keys
        self.links = links
        self.excludedProperty = excluded
    }

    /// Makes an empty collection.
    public init() {
        self.init(keys: [], links: nil)
    }

    /// Makes links to the objects, in their order.
    public init(_ targets: some Sequence<Target>) {
        self.init()
        for target in targets { append(target) }
    }

    /// Whether the links are not here because a query excluded them.
    public var isExcluded: Bool { excludedProperty != nil }

    /// Reads the targets that are on this device now, in order, and leaves the others out. It reads the disk once for
    /// each link and does not contact the server.
    ///
    /// - Throws: ``ModelError`` when the links were not read from a store, or when a target cannot be read as its type.
    public func fetchAll() throws -> [Target] {
        excludedProperty?.touch()
        guard !keys.isEmpty else { return [] }
        guard let links else { throw ModelError.detached(Target.className) }
        return try keys.compactMap { try links.fetch($0, as: Target.self) }
    }

    /// Adds a link to the object at the end.
    public mutating func append(_ target: Target) { append(Link(target)) }

    /// Adds a link to the object before the one at `index`.
    public mutating func insert(_ target: Target, at index: Int) { insert(Link(target), at: index) }

    /// Whether one of the links leads to the object.
    public func contains(_ target: Target) -> Bool { contains(Link(target)) }

    /// Removes every link to the object.
    public mutating func removeAll(of target: Target) { removeAll { $0.key == target.objectKey } }
}

extension Links: RandomAccessCollection, RangeReplaceableCollection, MutableCollection {
    public var startIndex: Int { 0 }

    public var endIndex: Int {
        excludedProperty?.touch()
        return keys.count
    }

    public subscript(position: Int) -> Link<Target> {
        get { Link(keys[position], links: links) }
        set { replaceSubrange(position..<position + 1, with: CollectionOfOne(newValue)) }
    }

    public mutating func replaceSubrange(
        _ range: Range<Int>, with elements: some Collection<Link<Target>>
    ) {
        if let excludedProperty {
            fault = ModelError(
                .changedWhileExcluded,
                "the query that brought this object excludes '\(excludedProperty.name)', so its elements cannot be changed; "
                    + "read the object without the exclusion, or assign a whole new value")
            return
        }
        for element in elements {
            if element.key == nil {
                fault = ModelError(
                    .invalidLink,
                    "a link without target cannot be an element of Links<\(Target.className)>; leave it out")
            }
            if links == nil { links = element.links }
        }
        keys.replaceSubrange(range, with: elements.compactMap(\.key))
    }
}

extension Links: ExpressibleByArrayLiteral {
    /// Makes links to the given objects, or takes the given links.
    public init(arrayLiteral elements: any LinkElement<Target>...) {
        self.init()
        for element in elements { append(element.typedLink) }
    }
}

extension Links: Hashable {
    public static func == (left: Links, right: Links) -> Bool {
        left.keys == right.keys && left.isExcluded == right.isExcluded
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(keys)
        hasher.combine(isExcluded)
    }
}

extension Links: CustomStringConvertible {
    /// The class and the targets' keys.
    public var description: String {
        isExcluded ? "\(Target.className)[excluded]" : "\(Target.className)\(keys)"
    }
}

extension Links: PropertyValue {
    public static var propertyType: PropertyType { .links(Target.className) }

    public static var tracksExclusion: Bool { true }

    public static var decodesEveryValue: Bool { true }

    public var propertyValue: Value { .list(keys.map(Value.link)) }

    public var presence: PropertyPresence {
        if let fault { return .invalid(fault) }
        if isExcluded { return .excluded }
        return keys.allSatisfy(Link<Target>.accepts) ? .present : .invalid(Link<Target>.wrongKey)
    }

    public static func decode(_ value: Value, from row: borrowing RowDecoder) -> Links? {
        guard case .list(let values) = value else { return nil }
        var keys: [ObjectKey] = []
        keys.reserveCapacity(values.count)
        for value in values {
            guard case .link(let key) = value else { return nil }
            keys.append(key)
        }
        return Links(keys: keys, links: row.linkSource)
    }

    public static func excluded(_ property: ExcludedProperty) -> Links? {
        Links(keys: [], links: property.binding.links, excluded: property)
    }
}
