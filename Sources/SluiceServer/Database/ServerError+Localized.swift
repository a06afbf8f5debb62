public import FoundationEssentials

extension ServerError: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}
