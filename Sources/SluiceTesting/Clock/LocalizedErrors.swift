public import FoundationEssentials

extension NotSettled: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}

extension TimedOut: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}
