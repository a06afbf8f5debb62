internal import SluiceModel

extension ServerMessage.Page {
    func encodeFields(into writer: inout ByteWriter) {
        writer.array(subscriptions) { $0.varint($1) }
        writer.varint(version)
        writer.progress(progress)
        writer.byte(kind.rawValue)
        SharedBlock(content).encode(into: &writer)
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        let subscriptions = try reader.array { reader throws(WireError) in try reader.varint() }
        let version = try reader.varint()
        let thousandths = try reader.varint()
        guard thousandths <= 1000 else { throw reader.malformed("\(thousandths) thousandths done") }
        self.init(
            session: session, subscriptions: subscriptions, version: version, progress: Double(thousandths) / 1000,
            kind: try ServerMessage.Complete.Kind(from: &reader), content: try SharedBlock.content(from: &reader))
    }
}

extension ServerMessage.Complete.Kind {
    init(from reader: inout ByteReader) throws(WireError) { self = try Self(code: reader.byte(), in: reader) }

    init(code: UInt8, in reader: ByteReader) throws(WireError) {
        guard let kind = Self(rawValue: code) else { throw reader.malformed("\(code) is no kind of completion") }
        self = kind
    }
}

extension ByteReader {
    /// What a query computes over everything that it matches.
    mutating func figures() throws(WireError) -> [Value] {
        try array { reader throws(WireError) in try Value(from: &reader) }
    }
}

extension ServerMessage.Commit {
    func encodeFields(into writer: inout ByteWriter) {
        header.encodeFields(into: &writer, withFigures: !figures.isEmpty)
        writer.array(blocks) {
            $0.array($1.subscriptions) { $0.varint($1) }
            SharedBlock($1.content).encode(into: &$0)
        }
        if !figures.isEmpty { writer.array(figures) { $1.encode(into: &$0) } }
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        let (header, hasFigures) = try CommitHeader.decode(session: session, from: &reader)
        self.init(
            header,
            blocks: try reader.array(minimumSize: 3) { reader throws(WireError) in
                ServerMessage.SubscriptionBlock(
                    subscriptions: try reader.array { reader throws(WireError) in try reader.varint() },
                    content: try SharedBlock.content(from: &reader))
            },
            figures: hasFigures
                ? try reader.array(minimumSize: 2) { reader throws(WireError) in
                    try ServerMessage.SubscriptionFigures(from: &reader)
                } : [])
    }
}

extension ServerMessage.SubscriptionFigures: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.array(subscriptions) { $0.varint($1) }
        writer.array(values) { $1.encode(into: &$0) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            subscriptions: try reader.array { reader throws(WireError) in try reader.varint() },
            values: try reader.figures())
    }
}

extension CommitHeader {
    /// The bits of the last byte: whether more parts follow, and whether figures follow the blocks.
    private static let isContinued: UInt8 = 1
    private static let hasFigures: UInt8 = 2

    func encodeFields(into writer: inout ByteWriter, withFigures hasFigures: Bool) {
        writer.varint(version)
        writer.zigzag(acceptedAt.microseconds)
        writer.optional(acknowledged) { $0.varint($1) }
        writer.byte((isContinued ? Self.isContinued : 0) | (hasFigures ? Self.hasFigures : 0))
    }

    static func decode(
        session: UInt64, from reader: inout ByteReader
    ) throws(WireError) -> (header: CommitHeader, hasFigures: Bool) {
        let version = try reader.varint()
        let acceptedAt = Timestamp(microseconds: try reader.zigzag())
        let acknowledged = try reader.optional { reader throws(WireError) in try reader.varint() }
        let flags = try reader.byte()
        guard flags <= isContinued | hasFigures else { throw reader.malformed("\(flags) as the flags of a commit") }
        let header = CommitHeader(
            session: session, version: version, acceptedAt: acceptedAt, acknowledged: acknowledged,
            isContinued: flags & isContinued != 0)
        return (header, flags & hasFigures != 0)
    }
}
