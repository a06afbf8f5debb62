internal import FoundationEssentials

/// One property of a class.
public struct Property: Hashable, Sendable {
    /// Letters, digits and `_`, not starting with a digit.
    public var name: String
    /// What it holds.
    public var type: PropertyType
    /// What objects have that were made before the property was, or without naming it.
    public var defaultValue: Value
    /// Whether queries by this property should find an index. Primary keys and links always do.
    public var isIndexed: Bool
    /// Whether this is only the place of a property that was removed: it has no name and its values are null.
    package private(set) var isRetired = false

    /// - Parameters:
    ///   - name: letters, digits and `_`, not starting with a digit.
    ///   - type: what it holds.
    ///   - defaultValue: nil for null where the type allows it, the empty collection, or else the type's zero.
    ///   - isIndexed: whether queries by it should find an index.
    public init(_ name: String, _ type: PropertyType, default defaultValue: Value? = nil, isIndexed: Bool = false) {
        self.name = name
        self.type = type
        self.defaultValue = defaultValue ?? type.zero
        self.isIndexed = isIndexed
    }

    /// What keeps the place of a property that was removed, named by the position that no other property gets.
    package static func retired(at position: Int) -> Property {
        var property = Property(String(position), .scalar(.bool, isOptional: true))
        property.isRetired = true
        return property
    }
}

extension PropertyType {
    /// The value that stands where nothing was said: null, the empty collection, or the scalar's zero.
    public var zero: Value {
        switch container {
        case .list: return .list([])
        case .set: return .set([])
        case .map: return .map(ValueMap())
        case .single: break
        }
        guard !isOptional, case .scalar(let type) = element else { return .null }
        return switch type {
        case .bool: .bool(false)
        case .int: .int(0)
        case .float: .float(0)
        case .double: .double(0)
        case .string: .string("")
        case .data: .data([])
        case .date: .date(Timestamp(microseconds: 0))
        case .uuid: .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
        case .objectID: .objectID(ObjectID(high: 0, low: 0))
        case .decimal: .decimal(0)
        }
    }

    /// Whether `value` may stand in a property of this type. Links are checked for the kind of key by the schema.
    public func accepts(_ value: Value) -> Bool {
        switch (container, value) {
        case (.single, _): acceptsElement(value)
        case (.list, .list(let elements)), (.set, .set(let elements)): elements.allSatisfy(acceptsElement)
        case (.map, .map(let map)): map.entries.allSatisfy { acceptsElement($0.value) }
        default: false
        }
    }

    private func acceptsElement(_ value: Value) -> Bool {
        switch (element, value) {
        case (_, .null): isOptional
        case (.link, .link): true
        case (.scalar(let type), _): value.scalarType == type
        default: false
        }
    }
}

extension Value {
    /// The scalar type of this value; nil for null, links and collections.
    public var scalarType: ScalarType? {
        switch self {
        case .bool: .bool
        case .int: .int
        case .float: .float
        case .double: .double
        case .string: .string
        case .data: .data
        case .date: .date
        case .uuid: .uuid
        case .objectID: .objectID
        case .decimal: .decimal
        case .null, .link, .list, .set, .map: nil
        }
    }
}
