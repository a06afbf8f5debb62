/// Why a record could not be made, read or changed.
public struct RecordError: SluiceError, Hashable {
    /// The kind of failure. More codes may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The schema has no class of that name.
        public static let unknownClass = Code(description: "unknownClass")
        /// The class has no property of that name.
        public static let unknownProperty = Code(description: "unknownProperty")
        /// A property is given twice, by two of its names.
        public static let repeatedProperty = Code(description: "repeatedProperty")
        /// A value is not of the property's type.
        public static let typeMismatch = Code(description: "typeMismatch")
        /// A primary key is missing, has a type that a key cannot have, or would change.
        public static let missingPrimaryKey = Code(description: "missingPrimaryKey")
        /// A list has no element at a position.
        public static let noSuchElement = Code(description: "noSuchElement")
        /// A query excluded the property, and nothing can stand for its value.
        public static let excluded = Code(description: "excluded")
    }

    /// The kind of failure, for code to compare.
    public let code: Code
    /// What was wrong, where, and what would be right. It contains no user data.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package static func unknownProperty(_ name: String, of classSchema: ClassSchema) -> RecordError {
        RecordError(
            .unknownProperty,
            "\(classSchema.name) has no property '\(name)'; it has \(classSchema.properties.map(\.name).joined(separator: ", "))"
        )
    }

    /// A key that no object of a class can have.
    package static func foreignKey(_ key: ObjectKey, of classSchema: ClassSchema) -> RecordError {
        let kind =
            switch key {
            case .id: "an object id"
            case .int: "an int"
            case .string: "a string"
            case .uuid: "a uuid"
            }
        let property = classSchema.primaryKey.map { "\($0), which is \(classSchema.keyType.rawValue)" }
        let names = property ?? "their object ids"
        return RecordError(
            .typeMismatch, "objects of \(classSchema.name) are named by \(names), and the key given is \(kind)")
    }

    package static func mismatch(_ value: Value, property: Property, of classSchema: ClassSchema) -> RecordError {
        if case .int = value, property.type.element == .scalar(.double), !property.type.isCollection {
            return RecordError(
                .typeMismatch,
                "\(classSchema.name).\(property.name) is \(property.type), which holds no int beyond 2^53 exactly")
        }
        return RecordError(
            .typeMismatch,
            "\(classSchema.name).\(property.name) is \(property.type), and the given value is \(value.kindName)")
    }
}

extension ClassSchema {
    /// The position of a property that a record or an update names.
    ///
    /// - Parameter named: the positions named so far; gets this one.
    /// - Throws: ``RecordError`` for an unknown name, and for a second name of one property.
    package func index(of name: String, named: inout PropertySet) throws(RecordError) -> Int {
        guard let index = index(of: name) else { throw .unknownProperty(name, of: self) }
        guard !named.contains(index) else {
            throw RecordError(
                .repeatedProperty,
                "\(self.name).\(properties[index].name) is given twice, by its name and a former one; give it once")
        }
        named.insert(index)
        return index
    }
}

extension Value {
    /// The kind of the value, in one word, for messages.
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
