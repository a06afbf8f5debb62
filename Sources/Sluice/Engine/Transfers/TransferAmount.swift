/// How much has travelled.
struct TransferAmount: Equatable {
    var rowCount = 0
    var byteCount = 0

    static func += (left: inout TransferAmount, right: TransferAmount) {
        left.rowCount += right.rowCount
        left.byteCount += right.byteCount
    }

    static func - (left: TransferAmount, right: TransferAmount) -> TransferAmount {
        TransferAmount(rowCount: left.rowCount - right.rowCount, byteCount: left.byteCount - right.byteCount)
    }
}
