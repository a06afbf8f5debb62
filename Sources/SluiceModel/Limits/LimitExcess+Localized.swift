public import FoundationEssentials

extension LimitExcess: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}
