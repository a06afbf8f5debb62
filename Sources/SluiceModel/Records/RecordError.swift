/// Why a record could not be made, read or changed.
public struct RecordError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of thing was wrong. More codes may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The schema has no class of that name.
        public static let unknownClass = Code(description: "unknownClass")
        /// The class has no property of that name.
        public static let unknownProperty = Code(description: "unknownProperty")
        /// A value is not of the property's type.
        public static let typeMismatch = Code(description: "typeMismatch")
        /// A primary key is missing, is of no kind that a key can be, or would change.
        public static let missingPrimaryKey = Code(description: "missingPrimaryKey")
        /// A value that a query excluded and nothing can stand for.
        public static let excluded = Code(description: "excluded")
    }

    /// What kind of thing happened, to be compared in code.
    public let code: Code
    /// What was wrong, where, and what would be right. Never holds user data.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }

    package static func unknownProperty(_ name: String, of classSchema: ClassSchema) -> RecordError {
        RecordError(
            .unknownProperty,
            "\(classSchema.name) has no property '\(name)'; it has \(classSchema.properties.map(\.name).joined(separator: ", "))"
        )
    }

    package static func mismatch(_ value: Value, property: Property, of classSchema: ClassSchema) -> RecordError {
        RecordError(
            .typeMismatch,
            "\(classSchema.name).\(property.name) is \(property.type), and the given value is \(value.kindName)")
    }
}

extension Value {
    /// What kind of value this is, in a word.
    package var kindName: String {
        switch self {
        case .null: "null"
        case .link: "link"
        case .list: "list"
        case .set: "set"
        case .map: "map"
        default: scalarType?.rawValue ?? "value"
        }
    }
}
