public import FoundationEssentials

extension SchemaError: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}
