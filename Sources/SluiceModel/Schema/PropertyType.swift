/// The type of a single value.
public enum ScalarType: String, Sendable, Hashable, CaseIterable {
    /// True or false.
    case bool
    /// Integers of 64 signed bits.
    case int
    /// Floating-point numbers of 32 bits.
    case float
    /// Floating-point numbers of 64 bits.
    case double
    /// Text in UTF-8.
    case string
    /// Bytes.
    case data
    /// Points in time, to the microsecond.
    case date
    /// UUIDs.
    case uuid
    /// Global ids of objects.
    case objectID = "objectId"
    /// Decimal numbers, exact: a whole number below 2^128 times a power of ten from 10^-128 to 10^127.
    case decimal
}

/// The type of a property: a scalar, a link or a collection of either.
public struct PropertyType: Hashable, Sendable {
    /// What one element is.
    public enum Element: Hashable, Sendable {
        /// A value that is no object.
        case scalar(ScalarType)
        /// A link to an object of the named class.
        case link(String)
    }

    /// How many elements there are.
    public enum Container: String, Hashable, Sendable {
        /// One value.
        case single
        /// Any number, in order, repeats allowed.
        case list
        /// Any number, each once.
        case set
        /// Any number, each under a string key.
        case map
    }

    /// What the value, or each element of the collection, is.
    public var element: Element
    /// Whether it is one value or a collection, and of which kind.
    public var container: Container
    /// Whether the value, or an element of the collection, may be null. Single links always may.
    public var isOptional: Bool

    /// - Parameters:
    ///   - element: what the value, or each element, is.
    ///   - container: one value, or a kind of collection.
    ///   - isOptional: whether the value, or an element, may be null; a single link always may.
    public init(_ element: Element, container: Container = .single, isOptional: Bool = false) {
        self.element = element
        self.container = container
        self.isOptional = isOptional || element.isLink && container == .single
    }

    /// A single scalar.
    public static func scalar(_ type: ScalarType, isOptional: Bool = false) -> PropertyType {
        PropertyType(.scalar(type), isOptional: isOptional)
    }

    /// A to-one link.
    public static func link(_ className: String) -> PropertyType { PropertyType(.link(className)) }

    /// An ordered to-many link.
    public static func links(_ className: String) -> PropertyType { PropertyType(.link(className), container: .list) }

    /// The class that links of this property lead to; nil for scalars.
    public var targetClass: String? {
        if case .link(let name) = element { name } else { nil }
    }

    /// Whether there may be any number of elements.
    public var isCollection: Bool { container != .single }
}

extension PropertyType.Element {
    /// Whether it leads to an object.
    public var isLink: Bool {
        if case .link = self { true } else { false }
    }
}

extension PropertyType: CustomStringConvertible {
    /// As in Swift source: `int`, `string?`, `[double]`, `Set<uuid>`, `[string: int]`, `Link<Plane>`, `Links<User>`.
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
