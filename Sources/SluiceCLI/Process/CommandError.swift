/// Why a command fails.
struct CommandError: Error, Hashable, CustomStringConvertible {
    /// The exit code of a failure.
    enum Kind: Int32 {
        /// Any failure except wrong usage.
        case failure = 1
        /// What was to be done is not done for a part of it, which the command has said.
        case unfinished = 2
        /// Bad options, or a query that does not parse (`EX_USAGE` of sysexits.h).
        case usage = 64
        /// Somebody else is at it, or what is needed is not there at the moment (`EX_TEMPFAIL`).
        case tryAgain = 75
    }

    let kind: Kind
    /// What was wrong, where, and what would be right.
    let message: String

    static func usage(_ message: String) -> CommandError { CommandError(kind: .usage, message: message) }

    static func failure(_ message: String) -> CommandError { CommandError(kind: .failure, message: message) }

    static func unfinished(_ message: String) -> CommandError { CommandError(kind: .unfinished, message: message) }

    static func tryAgain(_ message: String) -> CommandError { CommandError(kind: .tryAgain, message: message) }

    /// A failed system call: what was attempted, and the system's reason.
    static func system(_ attempt: String, code: Int32) -> CommandError {
        .failure("\(attempt): \(SystemCall.reason(for: code))")
    }

    var description: String { message }
}
