/// The type of a single value.
public enum ScalarType: String, Sendable, Hashable, CaseIterable {
    /// True or false.
    case bool
    /// Signed 64-bit integers.
    case int
    /// 32-bit floating-point numbers.
    case float
    /// 64-bit floating-point numbers.
    case double
    /// Text in UTF-8.
    case string
    /// Bytes.
    case data
    /// Points in time, to the microsecond.
    case date
    /// UUIDs.
    case uuid
    /// Object ids.
    case objectID = "objectId"
    /// Decimal numbers, exact: a whole number below 2^128 times a power of ten from 10^-128 to 10^127.
    case decimal
}

/// The type of a property: a scalar, a link, or a collection of either.
public struct PropertyType: Hashable, Sendable {
    /// The type of one element.
    public enum Element: Hashable, Sendable {
        /// A value that is not an object.
        case scalar(ScalarType)
        /// A link to an object of the named class.
        case link(String)
    }

    /// How many elements there are.
    public enum Container: String, Hashable, Sendable {
        /// One value.
        case single
        /// Any number of elements, in order; elements may repeat.
        case list
        /// Any number of elements, each once.
        case set
        /// Any number of elements, each under a string key.
        case map
    }

    /// The type of the value, or of each element of the collection.
    public var element: Element
    /// Whether the property is one value or a collection, and of which kind.
    public var container: Container
    /// Whether the value, or an element of the collection, may be null. A single link always may be.
    public var isOptional: Bool

    /// - Parameters:
    ///   - element: the type of the value, or of each element.
    ///   - container: one value, or a kind of collection.
    ///   - isOptional: whether the value, or an element, may be null; a single link always may be.
    public init(_ element: Element, container: Container = .single, isOptional: Bool = false) {
        self.element = element
        self.container = container
        self.isOptional = isOptional || element.isLink && container == .single
    }

    /// The type of a single scalar.
    public static func scalar(_ type: ScalarType, isOptional: Bool = false) -> PropertyType {
        PropertyType(.scalar(type), isOptional: isOptional)
    }

    /// The type of a to-one link.
    public static func link(_ className: String) -> PropertyType { PropertyType(.link(className)) }

    /// The type of an ordered to-many link.
    public static func links(_ className: String) -> PropertyType { PropertyType(.link(className), container: .list) }

    /// The class that the property's links lead to; nil for scalars.
    public var targetClass: String? {
        if case .link(let name) = element { name } else { nil }
    }

    /// Whether the property is a collection.
    public var isCollection: Bool { container != .single }
}

extension PropertyType.Element {
    /// Whether the element is a link.
    public var isLink: Bool {
        if case .link = self { true } else { false }
    }
}

extension PropertyType: CustomStringConvertible {
    /// The type as in Swift source: `int`, `string?`, `[double]`, `Set<uuid>`, `[string: int]`, `Link<Plane>`,
    /// `Links<User>`.
    public var description: String {
        let name =
            switch element {
            case .scalar(let type): type.rawValue + (isOptional ? "?" : "")
            case .link(let target): container == .single ? "Link<\(target)>" : target
            }
        return switch (container, element) {
        case (.single, _): name
        case (.list, .link): "Links<\(name)>"
        case (.list, .scalar): "[\(name)]"
        case (.set, _): "Set<\(name)>"
        case (.map, _): "[string: \(name)]"
        }
    }
}
