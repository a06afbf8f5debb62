package import SluiceModel

/// The bytes of a checkpoint: a format byte, the database's id, the epoch, the query's hash, what names the reader's rights,
/// then the place. The first format had the rights in the query's hash.
extension Checkpoint: WireCodable {
    private static let format: UInt8 = 2

    package func encode(into writer: inout ByteWriter) {
        writer.byte(Self.format)
        databaseID.encode(into: &writer)
        writer.fixed64(epoch)
        query.encode(into: &writer)
        rights.encode(into: &writer)
        switch place {
        case .reading(let read):
            writer.byte(0)
            writer.array(read) { $1.encode(into: &$0) }
        case .changes(let version, let until, let key, let read):
            writer.byte(1)
            writer.varint(version)
            writer.optional(until) { $0.varint($1) }
            writer.optional(key) { $1.encode(into: &$0) }
            writer.array(read) { $1.encode(into: &$0) }
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let format = try reader.expectFormat(1...Self.format, of: "a checkpoint")
        let databaseID = try ObjectID(from: &reader)
        let epoch = try reader.fixed64()
        let query = try ObjectID(from: &reader)
        let rights = format == 1 ? Self.everything : try ObjectID(from: &reader)
        let place: Place
        switch try reader.byte() {
        case 0: place = .reading(try Self.stretches(from: &reader))
        case 1:
            place = .changes(
                after: try reader.varint(),
                until: try reader.optional { reader throws(WireError) in try reader.varint() },
                key: try reader.optional { reader throws(WireError) in try ObjectKey(from: &reader) },
                read: try Self.stretches(from: &reader))
        case let kind: throw reader.malformed("\(kind) is no place of a checkpoint")
        }
        self.init(databaseID: databaseID, epoch: epoch, query: query, rights: rights, place: place)
    }

    private static func stretches(from reader: inout ByteReader) throws(WireError) -> [Stretch] {
        try reader.array { reader throws(WireError) in try Stretch(from: &reader) }
    }
}

extension Checkpoint.Stretch: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.optional(key) { $1.encode(into: &$0) }
        writer.varint(version)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            through: try reader.optional { reader throws(WireError) in try ObjectKey(from: &reader) },
            version: try reader.varint())
    }
}
