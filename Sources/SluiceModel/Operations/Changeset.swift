/// One client transaction as it travels to the server.
package struct Changeset: Hashable, Sendable {
    /// The client's own number for it, ascending from 1.
    package var sequence: UInt64
    /// The server version that the client stood at when the transaction was made.
    package var baseVersion: UInt64
    /// When it was made, by the client's hybrid clock.
    package var timestamp: HybridTimestamp
    package var operations: [ObjectOperation]

    package init(
        sequence: UInt64, baseVersion: UInt64, timestamp: HybridTimestamp, operations: [ObjectOperation]
    ) {
        self.sequence = sequence
        self.baseVersion = baseVersion
        self.timestamp = timestamp
        self.operations = operations
    }
}
