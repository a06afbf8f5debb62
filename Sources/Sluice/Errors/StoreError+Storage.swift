internal import SluiceStorage

extension StoreError {
    /// The error that callers of a store receive: a storage error becomes a ``StoreError`` with the same message; other
    /// errors stay as they are.
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
            case .vanished: .vanished
            case .full: .full
            case .exists: .fileExists
            default: .storage
            }
    }
}
