/// Why a server could not start or go on.
public struct ServerError: Error, Sendable, CustomStringConvertible {
    /// What kind of thing was wrong. More codes may come.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// The configuration cannot be used.
        public static let invalidConfiguration = Code(description: "invalidConfiguration")
        /// The folder of the databases cannot be used.
        public static let dataFolder = Code(description: "dataFolder")
        /// The address cannot be listened at.
        public static let address = Code(description: "address")
        /// A certificate or key cannot be used.
        public static let certificate = Code(description: "certificate")
    }

    /// What kind of thing happened, to be compared in code.
    public let code: Code
    /// What was wrong, where, and what would be right.
    public let message: String
    /// The error behind this one.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    public var description: String { message }
}
