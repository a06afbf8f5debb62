/// A short machine-readable word for what went wrong. Those that either side does not know are treated by their action.
package struct ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package var description: String { rawValue }

    // About the connection or a session.
    package static let protocolViolation = ErrorCode(rawValue: "protocolViolation")
    package static let unsupportedVersion = ErrorCode(rawValue: "unsupportedVersion")
    package static let authenticationFailed = ErrorCode(rawValue: "authenticationFailed")
    package static let credentialsExpired = ErrorCode(rawValue: "credentialsExpired")
    package static let unknownDatabase = ErrorCode(rawValue: "unknownDatabase")
    package static let permissionDenied = ErrorCode(rawValue: "permissionDenied")
    package static let incompatibleSchema = ErrorCode(rawValue: "incompatibleSchema")
    package static let clientReset = ErrorCode(rawValue: "clientReset")
    package static let limitExceeded = ErrorCode(rawValue: "limitExceeded")
    package static let overloaded = ErrorCode(rawValue: "overloaded")
    package static let shuttingDown = ErrorCode(rawValue: "shuttingDown")
    package static let internalError = ErrorCode(rawValue: "internalError")
    /// The server's database is damaged; nothing helps but restoring it.
    package static let databaseDamaged = ErrorCode(rawValue: "databaseDamaged")
    /// The server's schema has changed in a way that sessions begin anew with.
    package static let schemaChanged = ErrorCode(rawValue: "schemaChanged")
    /// The database's history goes on in another epoch, which sessions begin anew with.
    package static let historyChanged = ErrorCode(rawValue: "historyChanged")

    // About a subscription.
    package static let invalidQuery = ErrorCode(rawValue: "invalidQuery")
    /// The query names a class or property that the server does not have.
    package static let unknownName = ErrorCode(rawValue: "unknownName")

    // About a removal.
    /// What is to be removed from the schema holds something, or something leads to it.
    package static let inUse = ErrorCode(rawValue: "inUse")

    // About rules.
    /// The file of rules is not well formed, or asks for what the server does not enforce.
    package static let invalidRules = ErrorCode(rawValue: "invalidRules")

    // About a report.
    /// The request's topic is none that the server knows.
    package static let unknownReport = ErrorCode(rawValue: "unknownReport")

    // About an upload.
    package static let invalidOperation = ErrorCode(rawValue: "invalidOperation")
    /// What a database keeps of a job is not what the author of a change knows: another one has it since.
    package static let jobConflict = ErrorCode(rawValue: "jobConflict")
    /// A row of a queue is still a result of the queue's query.
    package static let jobUnfinished = ErrorCode(rawValue: "jobUnfinished")
    /// A rule of the server's user, in code, refuses a write.
    package static let writeRefused = ErrorCode(rawValue: "writeRefused")
}

/// What the receiver of an error does.
package enum ErrorAction: UInt8, Sendable, CaseIterable {
    /// Reports it and goes on.
    case report = 0
    /// Considers the connection or session ended and tries again later.
    case retry = 1
    /// Considers the connection or session ended, and tries again only once the user has changed something.
    case stop = 2
    /// Considers the session ended, forgets what it had from the server, keeps its outbox, and opens anew without
    /// identity.
    case reset = 3
}
