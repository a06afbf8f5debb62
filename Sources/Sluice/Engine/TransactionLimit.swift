internal import SluiceModel
internal import SluiceWire

/// How large a local transaction may be so that every server takes it in one piece.
enum TransactionLimit {
    static let operationCountMax = 100_000
    static let byteCountMax = 12 << 20

    /// - Parameter byteCountMax: the most bytes, about.
    /// - Throws: ``StoreError/Code/transactionTooLarge`` when the operations are too many or carry too much.
    static func check(_ operations: [ObjectOperation], byteCountMax: Int = byteCountMax) throws {
        guard operations.count <= operationCountMax else {
            throw StoreError(
                .transactionTooLarge,
                "the transaction changes \(operations.count) objects; at most \(operationCountMax) fit in one")
        }
        let byteCount = estimatedSize(of: operations)
        guard byteCount <= byteCountMax else {
            throw StoreError(
                .transactionTooLarge,
                "the transaction carries about \(byteCount) bytes; at most \(byteCountMax) fit in one")
        }
    }

    /// About how many bytes operations take on the wire.
    static func estimatedSize(of operations: [ObjectOperation]) -> Int {
        operations.reduce(0) { sum, operation in
            operation.fields.reduce(sum + 24) { sum, field in
                switch field.change {
                case .set(let value), .add(let value): sum + 4 + value.estimatedSize
                }
            }
        }
    }
}
