/// Why a command fails.
struct CommandError: Error, Hashable, CustomStringConvertible {
    /// The exit code of a failure.
    enum Kind: Int32 {
        /// Any failure except wrong usage.
        case failure = 1
        /// Bad options, or a query that does not parse (`EX_USAGE` of sysexits.h).
        case usage = 64
    }

    let kind: Kind
    /// What was wrong, where, and what would be right.
    let message: String

    static func usage(_ message: String) -> CommandError { CommandError(kind: .usage, message: message) }

    static func failure(_ message: String) -> CommandError { CommandError(kind: .failure, message: message) }

    /// A failed system call: what was attempted, and the system's reason.
    static func system(_ attempt: String, code: Int32) -> CommandError {
        .failure("\(attempt): \(SystemCall.reason(for: code))")
    }

    var description: String { message }
}
