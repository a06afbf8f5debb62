public import FoundationEssentials

extension RecordError: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}
