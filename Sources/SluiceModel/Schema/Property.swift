internal import FoundationEssentials

/// The definition of one property of a class.
public struct Property: Hashable, Sendable {
    /// The property's name: ASCII letters, digits and `_`, not starting with a digit.
    public var name: String
    /// The type of the property's values.
    public var type: PropertyType
    /// The value in objects that were created before the property was added, or without a value for it.
    public var defaultValue: Value
    /// Whether the property has an index, for queries by it. Primary keys and links always have one.
    public var isIndexed: Bool
    /// The names that the property had before, which older programs still use.
    public var formerNames: [String]
    /// Whether the property was removed and only its position is left: then it has no name, and its values are null.
    package private(set) var isRetired = false

    /// - Parameters:
    ///   - name: ASCII letters, digits and `_`, not starting with a digit.
    ///   - type: the type of the property's values.
    ///   - defaultValue: nil for null where the type allows it, for the empty collection, or else for the type's zero.
    ///   - isIndexed: whether the property has an index, for queries by it.
    ///   - formerNames: the names that the property had before: an existing property of such a name becomes this one.
    public init(
        _ name: String, _ type: PropertyType, default defaultValue: Value? = nil, isIndexed: Bool = false,
        was formerNames: [String] = []
    ) {
        self.name = name
        self.type = type
        self.defaultValue = defaultValue ?? type.zero
        self.isIndexed = isIndexed
        self.formerNames = formerNames
    }

    /// Makes the placeholder for a removed property. Its name is the position, which no property can have as its name.
    package static func retired(at position: Int) -> Property {
        var property = Property(String(position), .scalar(.bool, isOptional: true))
        property.isRetired = true
        return property
    }
}

extension PropertyType {
    /// The default when none is declared: null, the empty collection, or the scalar's zero.
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

    /// Whether a property of this type can have `value`. The kind of a link's key is not checked here.
    public func accepts(_ value: Value) -> Bool {
        switch (container, value) {
        case (.single, _): acceptsElement(value)
        case (.list, .list(let elements)), (.set, .set(let elements)): elements.allSatisfy(acceptsElement)
        case (.map, .map(let map)): map.entries.allSatisfy { acceptsElement($0.value) }
        default: false
        }
    }

    func acceptsElement(_ value: Value) -> Bool {
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
