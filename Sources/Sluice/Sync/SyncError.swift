/// Why syncing, a subscription or a write was refused or failed.
public struct SyncError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of thing happened. More codes may come, also from newer servers.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        package init(description: String) { self.description = description }

        /// The server could not be reached in time.
        public static let unreachable = Code(description: "unreachable")
        /// The store was opened without a server to sync with.
        public static let noServer = Code(description: "noServer")
        /// Nothing arrived within the time allowed.
        public static let timedOut = Code(description: "timedOut")
        /// The store was closed, or syncing stopped, while waiting.
        public static let stopped = Code(description: "stopped")
        /// The query cannot be answered as it stands.
        public static let invalidQuery = Code(description: "invalidQuery")
        /// The query names a class or property that the server does not know.
        public static let unknownName = Code(description: "unknownName")
        /// Client and server disagree about a class.
        public static let schema = Code(description: "schema")
        /// The login was refused.
        public static let notAuthenticated = Code(description: "notAuthenticated")
        /// The user may not do this.
        public static let notPermitted = Code(description: "notPermitted")
        /// A write that the server refused.
        public static let writeRejected = Code(description: "writeRejected")
        /// The peer did not follow the protocol, or speaks another version of it.
        public static let protocolViolation = Code(description: "protocolViolation")
        /// More than the server takes: too large a transaction, too many subscriptions.
        public static let limitExceeded = Code(description: "limitExceeded")
        /// The server failed.
        public static let server = Code(description: "server")
        /// This store's own file could not be read or written.
        public static let storage = Code(description: "storage")
    }

    /// What kind of thing happened, to be compared in code.
    public let code: Code
    /// What happened, where, and what would be right.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
