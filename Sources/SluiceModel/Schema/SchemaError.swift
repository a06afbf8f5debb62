/// Why a schema, or a change of one, was refused.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of thing was wrong. More codes may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// A class or property name that is malformed.
        public static let invalidName = Code(description: "invalidName")
        /// A name declared twice.
        public static let duplicateName = Code(description: "duplicateName")
        /// A primary key that is missing or of an unsuitable type.
        public static let invalidPrimaryKey = Code(description: "invalidPrimaryKey")
        /// A default value that does not fit its property.
        public static let invalidDefault = Code(description: "invalidDefault")
        /// A link to a class that the schema does not have.
        public static let unknownClass = Code(description: "unknownClass")
        /// A property that a class does not have.
        public static let unknownProperty = Code(description: "unknownProperty")
        /// Two sides that declare the same name differently.
        public static let incompatible = Code(description: "incompatible")
        /// More classes or properties than the limits allow.
        public static let limitExceeded = Code(description: "limitExceeded")
        /// A class or property that cannot be removed, since something is in it or leads to it.
        public static let inUse = Code(description: "inUse")
        /// A change that this user or server does not allow.
        public static let notAllowed = Code(description: "notAllowed")
    }

    /// What kind of thing happened, to be compared in code.
    public let code: Code
    /// What was wrong, where, and what would be right.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "schema: \(message)" }
}
