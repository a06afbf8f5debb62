package import SluiceModel

/// What a database keeps of a row of a queue that somebody works at, or that is to be tried again. Its record is due when
/// the lease ends, or when the row may be tried again.
package struct QueueClaim: Sendable, Hashable {
    /// Who works at the row; 0 for nobody.
    package var holder: UInt64
    /// How often the row was claimed.
    package var attemptCount: UInt64
    /// Rows with the same are worked at one after the other; nil for any.
    package var partition: String?

    private static let format: UInt8 = 1

    package init(holder: UInt64, attemptCount: UInt64, partition: String? = nil) {
        self.holder = holder
        self.attemptCount = attemptCount
        self.partition = partition
    }

    package static let prefix = "queue/"
    package static let deadPrefix = "queue-dead/"

    /// Where it is kept which dead rows nobody wants to hear of any more: they stay dead until they change.
    package static let discardedPrefix = "queue-discarded/"

    package static func space(_ queue: String) -> String { prefix + queue }
    package static func deadSpace(_ queue: String) -> String { deadPrefix + queue }
    package static func discardedSpace(_ queue: String) -> String { discardedPrefix + queue }

    /// Where it is kept which query a queue had when it last ran.
    package static let queryPrefix = "query-of-queue/"

    package static func queryKey(_ queue: String) -> JobRecord.Key { .init(space: queryPrefix + queue) }

    package static let partitionPrefix = "queue-partition/"

    package static func partitionSpace(_ queue: String) -> String { partitionPrefix + queue }

    /// What names the record by which a claim holds its partition, too.
    package static func partitionKey(_ queue: String, _ partition: String) -> JobRecord.Key {
        // A name is no longer than a key may be.
        JobRecord.Key(space: partitionSpace(queue), name: Array(partition.utf8.prefix(1_024)))
    }
}

extension QueueClaim: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.byte(Self.format)
        writer.fixed64(holder)
        writer.varint(attemptCount)
        writer.optional(partition) { $0.string($1) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        try reader.expectFormat(Self.format, of: "a claim")
        holder = try reader.fixed64()
        attemptCount = try reader.varint()
        partition = try reader.optional { reader throws(WireError) in try reader.string() }
    }
}
