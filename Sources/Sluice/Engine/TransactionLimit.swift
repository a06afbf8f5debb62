internal import SluiceModel

/// How large a local transaction may be so that every server takes it in one piece.
enum TransactionLimit {
    static let operationCountMax = 100_000
    static let byteCountMax = 12 << 20

    /// - Throws: ``StoreError/Code/transactionTooLarge`` when the operations are too many or carry too much.
    static func check(_ operations: [ObjectOperation]) throws {
        guard operations.count <= operationCountMax else {
            throw StoreError(
                .transactionTooLarge,
                "the transaction changes \(operations.count) objects; at most \(operationCountMax) fit in one")
        }
        var byteCount = 0
        for operation in operations {
            byteCount += 24
            for field in operation.fields {
                if case .set(let value) = field.change {
                    byteCount += 2 + value.estimatedByteCount
                } else {
                    byteCount += 12
                }
            }
        }
        guard byteCount <= byteCountMax else {
            throw StoreError(
                .transactionTooLarge,
                "the transaction carries about \(byteCount >> 20) MiB; at most \(byteCountMax >> 20) MiB fit in one")
        }
    }
}

extension Value {
    /// About how many bytes the value takes on the wire.
    fileprivate var estimatedByteCount: Int {
        switch self {
        case .null, .bool: 1
        case .string(let text): 2 + text.utf8.count
        case .data(let bytes): 2 + bytes.count
        case .list(let elements), .set(let elements): elements.reduce(2) { $0 + $1.estimatedByteCount }
        case .map(let map): map.entries.reduce(2) { $0 + 2 + $1.key.utf8.count + $1.value.estimatedByteCount }
        default: 10
        }
    }
}
