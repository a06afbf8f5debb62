public import FoundationEssentials

extension StorageError: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}
