internal import SluiceModel

extension StoreError {
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
