package import SluiceModel
internal import SluiceWire

/// How large a local transaction may be so that every server takes it in one piece.
package enum TransactionLimit {
    static let operationCountMax = 100_000
    /// The most bytes that a transaction carries, about, as ``estimatedSize(of:)`` counts them.
    package static let byteCountMax = 12 << 20

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

    /// About how many bytes writing a whole object takes on the wire, all its properties present.
    package static func estimatedSize(of row: Row) -> Int {
        row.values.reduce(24 + row.key.value.estimatedSize) { $0 + 4 + $1.estimatedSize }
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
