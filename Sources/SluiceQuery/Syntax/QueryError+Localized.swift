public import FoundationEssentials

extension QueryError: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}
