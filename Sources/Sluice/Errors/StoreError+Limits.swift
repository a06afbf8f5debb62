internal import SluiceModel

extension StoreError {
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
