extension ObjectOperation {
    /// The operation: 12 bytes, its key, and for each property 4 bytes and the value.
    package var dataSize: DataSize {
        fields.reduce(DataSize(byteCount: 12 + object.key.byteCount, elementCount: 2)) { sum, field in
            let size =
                switch field.change {
                case .set(let value), .setDefault(let value), .add(let value): value.dataSize
                case .clear: DataSize(byteCount: 1)
                case .edit(let edits): edits.inserted.dataSize + Value.list(edits.erased).dataSize
                case .editList(let edits): edits.dataSize
                }
            return DataSize(
                byteCount: sum.byteCount + 4 + size.byteCount, elementCount: sum.elementCount + 1 + size.elementCount)
        }
    }
}

extension DataLimits {
    /// What the operations of a transaction are too many or too large in.
    package func excess(of operations: [ObjectOperation]) -> LimitExcess? {
        excess(of: operations.count, operations.reduce(DataSize()) { $0 + $1.dataSize })
    }

    /// What the creations that are all operations of a transaction are too many or too large in.
    package func excess(of creations: Creations) -> LimitExcess? { excess(of: creations.count, creations.dataSize) }

    private func excess(of count: Int, _ size: @autoclosure () -> DataSize) -> LimitExcess? {
        guard count <= operationCount else {
            return LimitExcess(DataLimits.Name.operations, count, limit: operationCount)
        }
        let size = size()
        if size.byteCount > transactionByteCount {
            return LimitExcess(DataLimits.Name.transactionBytes, size.byteCount, limit: transactionByteCount)
        }
        if size.elementCount > transactionElementCount {
            return LimitExcess(DataLimits.Name.transactionElements, size.elementCount, limit: transactionElementCount)
        }
        return nil
    }
}
