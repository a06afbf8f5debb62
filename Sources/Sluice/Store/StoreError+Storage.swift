internal import SluiceStorage

extension StoreError {
    /// What callers of a store get for an error: the storage's own as a ``StoreError`` with the same message, others as
    /// they are.
    static func wrapping(_ error: any Error) -> any Error {
        guard let storage = error as? StorageError else { return error }
        return StoreError(Code(storage.code), storage.message, cause: storage)
    }
}

extension StoreError.Code {
    fileprivate init(_ code: StorageError.Code) {
        self =
            switch code {
            case .locked: .locked
            case .notADatabase, .foreignFile: .foreignFile
            case .newerFormat: .newerFormat
            case .damaged: .damaged
            case .full: .full
            default: .storage
            }
    }
}
