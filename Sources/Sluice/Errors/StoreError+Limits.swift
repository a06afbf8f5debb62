internal import SluiceModel

extension StoreError {
    /// What a write to a class that syncs throws in a store that only reads.
    static let readOnlySync = StoreError(
        .readOnly,
        "the store was opened to read only; sync with access .readWrite to write, or write to a class that is local")

    /// What a query in a transaction on a server's database throws.
    static let noQueries = StoreError(
        .insideWrite,
        "a transaction on a server's database has no queries; read the database's objects before the transaction")

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
