public import SluiceModel
internal import SluiceWire

/// Why a consumer or a queue could not go on.
public struct JobError: SluiceError {
    /// The kind of failure. More codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// Another consumer has taken the name since.
        public static let superseded = Code(description: "superseded")
        /// Another consumer has the name and is at work.
        public static let nameHeld = Code(description: "nameHeld")
        /// The name belongs to a job over another query.
        public static let nameTaken = Code(description: "nameTaken")
        /// The name cannot be one.
        public static let invalidName = Code(description: "invalidName")
        /// A batch was committed before, or a later one was given out.
        public static let batchOver = Code(description: "batchOver")
        /// A batch was handled and not committed.
        public static let notCommitted = Code(description: "notCommitted")
        /// The lease of a claimed row has ended, and another worker may have it.
        public static let leaseLost = Code(description: "leaseLost")
        /// A row or a batch is put off, which counts as no attempt; see ``JobError/tryAgain(_:)``.
        public static let tryAgain = Code(description: "tryAgain")
        /// A checkpoint is of another database, or of another query.
        public static let foreignCheckpoint = Code(description: "foreignCheckpoint")
        /// Bytes that are to be a checkpoint are none.
        public static let invalidCheckpoint = Code(description: "invalidCheckpoint")
        /// What a database keeps of a job was written by a newer version.
        public static let newerFormat = Code(description: "newerFormat")
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

    /// What a worker of a queue, or a consumer's body, throws to have its row or batch tried again later without counting an
    /// attempt: because what it needs is not there at the moment.
    ///
    /// - Parameter reason: why, for the log.
    public static func tryAgain(_ reason: String) -> JobError { JobError(.tryAgain, reason) }

    /// Checks the name of a job.
    ///
    /// - Parameter kind: what the name is of, such as `consumer`.
    package static func check(name: String, of kind: String) throws {
        guard JobSpace.isName(name) else {
            throw JobError(
                .invalidName,
                "'\(name.prefix(40))' cannot be the name of a \(kind): use 1 to \(JobSpace.nameByteCountMax) bytes without slashes and line breaks"
            )
        }
    }
}
