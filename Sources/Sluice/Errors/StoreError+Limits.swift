internal import SluiceModel

extension StoreError {
    /// What a write to a class that syncs throws in a store that only reads.
    static let readOnlySync = StoreError(
        .readOnly,
        "the store was opened to read only; sync with access .readWrite to write, or write to a class that is local")

    /// What a snapshot of results throws in a transaction on a server's database.
    static let noSnapshot = StoreError(
        .insideWrite, "results in a transaction on a server's database have no snapshots; fetch them")

    /// A write that is larger than a server would accept.
    init(_ excess: LimitExcess) {
        let code: Code =
            switch excess.limitName {
            case DataLimits.Name.objectBytes, DataLimits.Name.objectElements: .objectTooLarge
            case DataLimits.Name.keyBytes: .keyTooLong
            default: .transactionTooLarge
            }
        self.init(code, excess.description, cause: excess)
    }
}
