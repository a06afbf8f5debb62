public import SluiceModel

/// Why the server rejected, or why the store could not do, something in connection with syncing.
public struct SyncError: SluiceError, Hashable {
    /// The kind of failure. More codes may be added, by newer servers too.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        package init(description: String) { self.description = description }

        /// The server could not be reached in time.
        public static let unreachable = Code(description: "unreachable")
        /// The store was opened without a server to sync with.
        public static let noServer = Code(description: "noServer")
        /// Nothing arrived in time.
        public static let timedOut = Code(description: "timedOut")
        /// The store was closed, or syncing ended, during the wait.
        public static let stopped = Code(description: "stopped")
        /// The server cannot answer this query.
        public static let invalidQuery = Code(description: "invalidQuery")
        /// The query names a class or property that the server does not know.
        public static let unknownName = Code(description: "unknownName")
        /// The server has no database of the URL's name, and makes none.
        public static let unknownDatabase = Code(description: "unknownDatabase")
        /// What is to be removed from the server's schema holds something, or something leads to it.
        public static let inUse = Code(description: "inUse")
        /// The file of rules is not well formed, or asks for what the server does not enforce.
        public static let invalidRules = Code(description: "invalidRules")
        /// The server is of a version that does not know the report.
        public static let unknownReport = Code(description: "unknownReport")
        /// Client and server disagree about a class.
        public static let schema = Code(description: "schema")
        /// The server rejected the login.
        public static let notAuthenticated = Code(description: "notAuthenticated")
        /// The user may not do this.
        public static let notPermitted = Code(description: "notPermitted")
        /// The server rejected a write.
        public static let writeRejected = Code(description: "writeRejected")
        /// What the server keeps of a job is not what the author of a transaction knows; a ``Consumer`` or a ``WorkQueue``
        /// makes a ``JobError`` of it.
        public static let jobConflict = Code(description: "jobConflict")
        /// A row of a queue that a transaction finishes is still a result of its query.
        public static let jobUnfinished = Code(description: "jobUnfinished")
        /// The peer did not follow the protocol, or speaks another version of it.
        public static let protocolViolation = Code(description: "protocolViolation")
        /// The request exceeds a limit of the server, such as the size of a transaction or the number of subscriptions.
        public static let limitExceeded = Code(description: "limitExceeded")
        /// The server's database file is damaged, so that it cannot answer a query that reads the damaged part, and
        /// accepts no writes. Trying again does not help until the file is restored. Unsent writes stay in the store.
        public static let databaseDamaged = Code(description: "databaseDamaged")
        /// The server has another history than the one that this store knows, and nobody has said yet what becomes of
        /// unsent writes. ``Store/resetSync(_:)`` goes on.
        public static let resetRequired = Code(description: "resetRequired")
        /// The server failed.
        public static let server = Code(description: "server")
        /// This store's own file could not be read or written.
        public static let storage = Code(description: "storage")
    }

    /// The kind of failure, for code to compare.
    public let code: Code
    /// What happened, where, and what would be right.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
