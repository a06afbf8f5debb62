package import SluiceModel

/// What a database keeps of a consumer: who holds its name, its query, and how far it has come.
package struct ConsumerState: Sendable, Hashable {
    /// Begins anew with each consumer that takes the name.
    package var holder: UInt64
    /// The query in its own grammar.
    package var query: String
    /// Nil before the first commit.
    package var checkpoint: Checkpoint?
    /// How many objects were handled.
    package var handledCount: UInt64 = 0
    /// How many of them since it began with all results.
    package var done: UInt64 = 0
    /// How many results there were then; nil while it follows changes.
    package var known: UInt64?
    /// When it committed last.
    package var committedAt: Timestamp?
    /// What has failed since then; nil if nothing has. Who takes the name over goes on with it.
    package var trial: ConsumerTrial?

    private static let format: UInt8 = 3
    package static let prefix = "consumer/"
    package static let deadPrefix = "consumer-dead/"

    package static func key(_ name: String) -> JobRecord.Key { .init(space: prefix + name) }

    /// Where the dead letters of a consumer are, by object.
    package static func deadSpace(_ name: String) -> String { deadPrefix + name }

    /// - Throws: `WireError` if the record was made by a newer version.
    package init(_ record: JobRecord) throws { try self.init(wireBytes: record.value) }

    package init(holder: UInt64, query: String) {
        self.holder = holder
        self.query = query
    }
}

extension ConsumerState: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.byte(Self.format)
        writer.fixed64(holder)
        writer.string(query)
        writer.optional(checkpoint) { $1.encode(into: &$0) }
        writer.varint(handledCount)
        writer.optional(committedAt) { $0.zigzag($1.microseconds) }
        writer.optional(trial) { writer, trial in
            writer.varint(trial.limit)
            writer.varint(trial.failureCount)
        }
        writer.varint(done)
        writer.optional(known) { $0.varint($1) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let format = try reader.expectFormat(1...Self.format, of: "a consumer")
        holder = try reader.fixed64()
        query = try reader.string()
        checkpoint = try reader.optional { reader throws(WireError) in try Checkpoint(from: &reader) }
        handledCount = try reader.varint()
        committedAt = try reader.optional { reader throws(WireError) in
            Timestamp(microseconds: try reader.zigzag())
        }
        guard format > 1 else { return }
        trial = try reader.optional { reader throws(WireError) in
            ConsumerTrial(limit: try reader.varint(), failureCount: try reader.varint())
        }
        guard format > 2 else { return }
        done = try reader.varint()
        known = try reader.optional { reader throws(WireError) in try reader.varint() }
    }
}

/// How a consumer looks for the object that fails: how many objects it tries together, and how often it has.
package struct ConsumerTrial: Sendable, Hashable {
    package var limit: UInt64
    package var failureCount: UInt64

    package init(limit: UInt64, failureCount: UInt64) {
        self.limit = limit
        self.failureCount = failureCount
    }
}
