/// Why a typed value could not be read, written or followed.
public struct ModelError: Error, Hashable, Sendable, CustomStringConvertible {
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

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
