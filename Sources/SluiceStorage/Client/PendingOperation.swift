package import SluiceModel

/// One operation of the outbox.
package struct PendingOperation: Hashable, Sendable {
    /// The sequence of the changeset that the operation belongs to.
    package var sequence: UInt64
    package var timestamp: HybridTimestamp
    package var operation: ObjectOperation

    package init(sequence: UInt64, timestamp: HybridTimestamp, operation: ObjectOperation) {
        self.sequence = sequence
        self.timestamp = timestamp
        self.operation = operation
    }
}
