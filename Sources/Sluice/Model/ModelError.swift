public import SluiceModel

/// Why a typed value could not be read, written or followed.
public struct ModelError: SluiceError, Hashable {
    /// What kind of thing was wrong. More codes may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// A property whose value a query excluded and nothing can stand for.
        public static let excluded = Code(description: "excluded")
        /// A stored value that the property's Swift type cannot hold.
        public static let typeMismatch = Code(description: "typeMismatch")
        /// A class or property that the store does not have.
        public static let notInSchema = Code(description: "notInSchema")
        /// A collection of links that was changed although its contents are not here.
        public static let changedWhileExcluded = Code(description: "changedWhileExcluded")
        /// A link that leads nowhere where a target is needed, or whose key cannot name an object of its class.
        public static let invalidLink = Code(description: "invalidLink")
        /// A link that was made by hand and never read from a store.
        public static let detached = Code(description: "detached")
        /// An object that is neither here nor on the server, or that may not be read.
        public static let notFound = Code(description: "notFound")
    }

    /// What kind of thing happened, to be compared in code.
    public let code: Code
    /// What was wrong, where, and what would be right. Never holds user data.
    public let message: String
    /// The object that could not be read, where it is one.
    public let object: Identity?
    /// The property that could not be read, where it is one.
    public let property: String?
    /// The stored value that the property's Swift type cannot hold.
    public let value: Value?

    package init(
        _ code: Code, _ message: String, object: Identity? = nil, property: String? = nil, value: Value? = nil
    ) {
        self.code = code
        self.message = message
        self.object = object
        self.property = property
        self.value = value
    }
}

extension ModelError: CustomDebugStringConvertible {
    /// The message, and the object and the value, which are user data.
    public var debugDescription: String {
        var text = message
        if let object { text += "; object: \(object)" }
        if let value { text += "; value: \(value)" }
        return text
    }
}
