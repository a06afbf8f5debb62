public import SluiceModel

/// Why an operation on a store failed.
public struct StoreError: SluiceError, Hashable {
    /// The kind of failure. More codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        package init(description: String) { self.description = description }

        /// The configuration is invalid.
        public static let invalidConfiguration = Code(description: "invalidConfiguration")
        /// The store was closed.
        public static let closed = Code(description: "closed")
        /// The operation is not possible within a write transaction.
        public static let insideWrite = Code(description: "insideWrite")
        /// What was made in a write transaction was used after its end, or outside its body.
        public static let outsideWrite = Code(description: "outsideWrite")
        /// The schema has no class of that name.
        public static let unknownClass = Code(description: "unknownClass")
        /// An object to insert is already here.
        public static let objectExists = Code(description: "objectExists")
        /// An object to change is not here.
        public static let objectMissing = Code(description: "objectMissing")
        /// The store has read-only access to its server.
        public static let readOnly = Code(description: "readOnly")
        /// A transaction of a store that syncs is too large to upload in one piece.
        public static let transactionTooLarge = Code(description: "transactionTooLarge")
        /// An object would be larger than every reader accepts; the cause, a `LimitExcess`, has the numbers.
        public static let objectTooLarge = Code(description: "objectTooLarge")
        /// A primary key, or the key of a link's target, is longer than every reader accepts.
        public static let keyTooLong = Code(description: "keyTooLong")
        /// Another process, or something else in this one, has the file open.
        public static let locked = Code(description: "locked")
        /// A file that is to be made is there already.
        public static let fileExists = Code(description: "fileExists")
        /// The store has writes that the server has not confirmed.
        public static let notUploaded = Code(description: "notUploaded")
        /// The file is not a store: not a database, or a database of another program.
        public static let foreignFile = Code(description: "foreignFile")
        /// The file was written by a newer version of this library.
        public static let newerFormat = Code(description: "newerFormat")
        /// The file's content contradicts itself.
        public static let damaged = Code(description: "damaged")
        /// The file, or one of those beside it, was removed, renamed, replaced or emptied.
        public static let vanished = Code(description: "vanished")
        /// No space is left on the device.
        public static let full = Code(description: "full")
        /// The file could not be opened, read or written for another reason.
        public static let storage = Code(description: "storage")
    }

    /// The kind of failure, for code to compare.
    public let code: Code
    /// What was wrong, where, and what would be right. It contains no user data.
    public let message: String
    /// The underlying error.
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
}
