/// Why an operation on a store failed.
public struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of thing was wrong. More codes may come.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        package init(description: String) { self.description = description }

        /// The configuration cannot be used.
        public static let invalidConfiguration = Code(description: "invalidConfiguration")
        /// The store was closed.
        public static let closed = Code(description: "closed")
        /// Something that cannot be done from within a write transaction.
        public static let insideWrite = Code(description: "insideWrite")
        /// The schema has no class of that name.
        public static let unknownClass = Code(description: "unknownClass")
        /// An object to be inserted is here already.
        public static let objectExists = Code(description: "objectExists")
        /// An object to be changed is not here.
        public static let objectMissing = Code(description: "objectMissing")
        /// The store syncs to read only.
        public static let readOnly = Code(description: "readOnly")
        /// A transaction that syncs is too large to travel in one piece.
        public static let transactionTooLarge = Code(description: "transactionTooLarge")
        /// Another process, or something else in this one, has the file open.
        public static let locked = Code(description: "locked")
        /// The file is no store: no database, or one of another program.
        public static let foreignFile = Code(description: "foreignFile")
        /// The file was written by a newer version of this library.
        public static let newerFormat = Code(description: "newerFormat")
        /// The file's content contradicts itself.
        public static let damaged = Code(description: "damaged")
        /// No space is left on the device.
        public static let full = Code(description: "full")
        /// The file could not be opened, read or written for another reason.
        public static let storage = Code(description: "storage")
    }

    /// What kind of thing happened, to be compared in code.
    public let code: Code
    /// What was wrong, where, and what would be right. Never holds user data.
    public let message: String
    /// The error behind this one.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    public static func == (left: StoreError, right: StoreError) -> Bool {
        left.code == right.code && left.message == right.message
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }

    public var description: String { message }
}
