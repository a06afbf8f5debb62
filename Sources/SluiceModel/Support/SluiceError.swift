public import FoundationEssentials

/// What all errors of Sluice have: a text for people, which is also what `localizedDescription` gives.
///
/// Most have a `code` beside it, for programs to compare.
public protocol SluiceError: LocalizedError, CustomStringConvertible, Sendable {
    /// What was wrong, where, and what would be right. It contains no user data.
    var message: String { get }
}

extension SluiceError {
    /// The message.
    public var description: String { message }

    /// The error's own text.
    public var errorDescription: String? { description }

    /// Nil: the message says all.
    public var failureReason: String? { nil }

    /// Nil: the message says all.
    public var recoverySuggestion: String? { nil }

    /// Nil: there is no help beyond the message.
    public var helpAnchor: String? { nil }
}
