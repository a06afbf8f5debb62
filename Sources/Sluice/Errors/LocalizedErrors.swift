public import FoundationEssentials

extension StoreError: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}

extension SyncError: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}

extension ModelError: LocalizedError {
    /// The error's own text.
    public var errorDescription: String? { description }
}
