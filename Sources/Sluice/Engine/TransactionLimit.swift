internal import SluiceModel
internal import SluiceWire

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

extension ClientEngine {
    /// The limits of a transaction: those of every server, or of the one that this store is connected to if it accepts
    /// less.
    var transactionLimits: DataLimits {
        var limits = options.dataLimits
        limits.transactionByteCount = min(limits.transactionByteCount, frameLengthMax / 4 * 3)
        limits.operationCount = min(limits.operationCount, Int(clamping: session.limits.operationCountMax))
        return limits
    }
}
