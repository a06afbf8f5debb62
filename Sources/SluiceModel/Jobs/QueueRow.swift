/// A row that a queue's query finds, with what the queue knows of it.
package struct QueueRow: Sendable, Hashable {
    package let row: Row
    /// Who works at the row, or when it is to be tried again; nil if nobody ever has, or if it was finished.
    package let claim: JobRecord?
    /// Why it was given up, also where that was discarded since; nil if it was not.
    package let dead: JobRecord?

    package init(_ row: Row, claim: JobRecord?, dead: JobRecord?) {
        self.row = row
        self.claim = claim
        self.dead = dead
    }
}

/// Some of the rows that a queue's query finds, in its order, whoever holds them.
package struct QueueRows: Sendable {
    package let rows: [QueueRow]
    /// The version of the row that they come behind, or 0 where its place is the same in all versions; nil if they are the
    /// first, also because the row is gone that they were to come behind.
    package let precedingVersion: UInt64?
    /// Whether no row comes behind them.
    package let isLast: Bool
    package let schema: Schema
    package let classIndex: Int
    /// The server's clock when they were read.
    package let now: Timestamp
    /// When a row that is held, or that is to be tried again, will be due; nil if none waits.
    package let nextDue: Timestamp?
    /// The partitions of which somebody works at a row, and until when.
    package let busyPartitions: [String]
    /// The epochs that the rows' versions belong to.
    package let epochs: [Epoch]

    package init(
        _ rows: [QueueRow], after precedingVersion: UInt64?, isLast: Bool, schema: Schema, classIndex: Int,
        at now: Timestamp, nextDue: Timestamp?, busyPartitions: [String], epochs: [Epoch]
    ) {
        self.rows = rows
        self.precedingVersion = precedingVersion
        self.isLast = isLast
        self.schema = schema
        self.classIndex = classIndex
        self.now = now
        self.nextDue = nextDue
        self.busyPartitions = busyPartitions
        self.epochs = epochs
    }
}
