/// One client transaction, as it is uploaded to the server.
package struct Changeset: Hashable, Sendable {
    /// The client's own number of the transaction, ascending from 1.
    package var sequence: UInt64
    /// The server version that the client had when it made the transaction.
    package var baseVersion: UInt64
    /// When the client made the transaction, by its hybrid clock.
    package var timestamp: HybridTimestamp
    package var operations: [ObjectOperation]
    /// Why a server cannot read the operations, which are none then; nil if it can.
    package var problem: String?

    package init(
        sequence: UInt64, baseVersion: UInt64, timestamp: HybridTimestamp, operations: [ObjectOperation]
    ) {
        self.sequence = sequence
        self.baseVersion = baseVersion
        self.timestamp = timestamp
        self.operations = operations
    }
}
