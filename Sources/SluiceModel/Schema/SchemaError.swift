/// Why a schema, or a change of a schema, was rejected.
public struct SchemaError: SluiceError, Hashable {
    /// The kind of failure. More codes may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The name of a class or property is malformed.
        public static let invalidName = Code(description: "invalidName")
        /// A name is declared twice.
        public static let duplicateName = Code(description: "duplicateName")
        /// A primary key is missing, or its type cannot be a key's.
        public static let invalidPrimaryKey = Code(description: "invalidPrimaryKey")
        /// A default value does not have its property's type.
        public static let invalidDefault = Code(description: "invalidDefault")
        /// A link leads to a class that the schema does not have.
        public static let unknownClass = Code(description: "unknownClass")
        /// The class has no property of that name.
        public static let unknownProperty = Code(description: "unknownProperty")
        /// A link leads from a class that syncs to one that does not, or back.
        public static let localLink = Code(description: "localLink")
        /// A class is local on one side and syncs on the other; it cannot change sides.
        public static let localChange = Code(description: "localChange")
        /// Two sides declare the same name differently.
        public static let incompatible = Code(description: "incompatible")
        /// There are more classes or properties than the limits allow.
        public static let limitExceeded = Code(description: "limitExceeded")
        /// A class or property cannot be removed, since it has values or links lead to it.
        public static let inUse = Code(description: "inUse")
        /// The user or the server does not allow the change.
        public static let notAllowed = Code(description: "notAllowed")
    }

    /// The kind of failure, for code to compare.
    public let code: Code
    /// What was wrong, where, and what would be right.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "schema: \(message)" }
}

extension SchemaError {
    /// - Parameter place: what has too many.
    package static func tooMany(
        _ what: String, _ count: Int, _ limit: Int, in place: String = "the schema"
    ) -> SchemaError {
        SchemaError(.limitExceeded, "\(place) has \(count) \(what); at most \(limit) are allowed")
    }
}
