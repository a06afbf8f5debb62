package import SluiceModel

extension ConsumerChunk {
    /// Flags, the version, the version up to which changes were looked for, the epoch, the epochs of the rows' versions,
    /// where it begins and ends, then the items: for a row its bytes, for what is gone its key and why. The schema, which
    /// the reader knows, is left out.
    package func encode(into writer: inout ByteWriter) {
        writer.byte((isReset ? 1 : 0) | (isLast ? 2 : 0) | (isOtherHistory ? 4 : 0))
        writer.varint(UInt64(classIndex))
        writer.varint(version)
        writer.varint(until)
        writer.fixed64(epoch)
        writer.epochs(epochs)
        begin.encode(into: &writer)
        end.encode(into: &writer)
        writer.array(items) { writer, item in
            switch item {
            case .upsert(let row):
                writer.byte(0)
                writer.data(row.wireBytes())
            case .removal(let key, let reason):
                writer.byte(1)
                key.encode(into: &writer)
                writer.byte(reason.code)
            }
        }
    }

    /// - Parameter schema: the schema of the database when the chunk was made.
    /// - Throws: ``WireError``, also for a row that does not fit the schema.
    package init(from reader: inout ByteReader, schema: Schema) throws(WireError) {
        let flags = try reader.byte()
        let classIndex = try reader.position()
        let (version, until, epoch) = (try reader.varint(), try reader.varint(), try reader.fixed64())
        let epochs = try reader.epochs()
        let begin = try Checkpoint(from: &reader)
        let end = try Checkpoint(from: &reader)
        self.init(
            begin, schema: schema, classIndex: classIndex, version: version, until: until, epoch: epoch)
        self.end = end
        self.epochs = epochs
        isReset = flags & 1 != 0
        isLast = flags & 2 != 0
        isOtherHistory = flags & 4 != 0
        items = try reader.array(minimumSize: 3) { reader throws(WireError) in
            switch try reader.byte() {
            case 0: .upsert(try Row(nestedIn: &reader, ofClass: classIndex, schema))
            case 1: .removal(try ObjectKey(from: &reader), RemovalReason(code: try reader.byte()))
            case let code: throw reader.malformed("\(code) is no item of a chunk")
            }
        }
        guard items.isEmpty || schema.classes.indices.contains(classIndex) else {
            throw reader.malformed("there is no class \(classIndex)")
        }
    }
}

extension QueueRows {
    /// The class, the time, when the next row is due, the busy partitions, the version of the row that they come behind,
    /// whether no row comes behind them, the epochs of the rows' versions, then each row with its records.
    package func encode(into writer: inout ByteWriter) {
        writer.varint(UInt64(classIndex))
        writer.zigzag(now.microseconds)
        writer.due(nextDue)
        writer.array(busyPartitions) { $0.string($1) }
        writer.optional(precedingVersion) { $0.varint($1) }
        writer.bool(isLast)
        writer.epochs(epochs)
        writer.array(rows) { writer, row in
            writer.data(row.row.wireBytes())
            writer.optional(row.claim) { $1.encode(into: &$0) }
            writer.optional(row.dead) { $1.encode(into: &$0) }
        }
    }

    /// - Parameter schema: the schema of the database when the rows were read.
    package init(from reader: inout ByteReader, schema: Schema) throws(WireError) {
        let classIndex = try reader.position()
        let now = Timestamp(microseconds: try reader.zigzag())
        let nextDue = try reader.due()
        let partitions = try reader.array { reader throws(WireError) in try reader.string() }
        let precedingVersion = try reader.optional { reader throws(WireError) in try reader.varint() }
        let isLast = try reader.bool()
        let epochs = try reader.epochs()
        let rows = try reader.array(minimumSize: 3) { reader throws(WireError) in
            QueueRow(
                try Row(nestedIn: &reader, ofClass: classIndex, schema),
                claim: try reader.optional { reader throws(WireError) in try JobRecord(from: &reader) },
                dead: try reader.optional { reader throws(WireError) in try JobRecord(from: &reader) })
        }
        self.init(
            rows, after: precedingVersion, isLast: isLast, schema: schema, classIndex: classIndex, at: now,
            nextDue: nextDue, busyPartitions: partitions, epochs: epochs)
    }
}

extension Row {
    /// Reads a row that stands behind its length.
    package init(nestedIn reader: inout ByteReader, ofClass classIndex: Int, _ schema: Schema) throws(WireError) {
        let bytes = try reader.data()
        self = try Row(wireBytes: bytes)
        guard schema.classes.indices.contains(classIndex), values.count == schema[classIndex].properties.count else {
            throw reader.malformed("a row that does not fit its class")
        }
    }
}
