public import SluiceModel

/// Why a server could not start or go on.
public struct ServerError: SluiceError {
    /// The kind of failure. More codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// The configuration is invalid.
        public static let invalidConfiguration = Code(description: "invalidConfiguration")
        /// The folder of the databases cannot be used.
        public static let dataFolder = Code(description: "dataFolder")
        /// The folder of the backups, or that of the archive, cannot be used.
        public static let backups = Code(description: "backups")
        /// The server cannot listen at the address.
        public static let address = Code(description: "address")
        /// A certificate or key cannot be used.
        public static let certificate = Code(description: "certificate")
        /// A database cannot be opened, read or written.
        public static let database = Code(description: "database")
        /// A transaction of this process does not fit the schema or the limits.
        public static let rejected = Code(description: "rejected")
        /// Nobody knows whether a transaction of this process was stored. Read what there is before it is tried again.
        public static let outcomeUnknown = Code(description: "outcomeUnknown")
        /// A transaction was not stored, since another server may have the duty for which it was made.
        public static let dutyLost = Code(description: "dutyLost")
        /// The audit log cannot be written.
        public static let auditLog = Code(description: "auditLog")
        /// Somebody uses the database that is to be deleted.
        public static let inUse = Code(description: "inUse")
        /// The server was stopped.
        public static let stopped = Code(description: "stopped")
    }

    /// The kind of failure, for code to compare.
    public let code: Code
    /// What was wrong, where, and what would be right.
    public let message: String
    /// The underlying error.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
