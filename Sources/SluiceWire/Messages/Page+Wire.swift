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
    init(from reader: inout ByteReader) throws(WireError) {
        let code = try reader.byte()
        guard let kind = Self(rawValue: code) else { throw reader.malformed("\(code) is no kind of completion") }
        self = kind
    }
}

extension ServerMessage.Commit {
    func encodeFields(into writer: inout ByteWriter) {
        header.encodeFields(into: &writer)
        writer.array(blocks) {
            $0.array($1.subscriptions) { $0.varint($1) }
            SharedBlock($1.content).encode(into: &$0)
        }
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        let header = try CommitHeader(session: session, from: &reader)
        self.init(
            header,
            blocks: try reader.array(minimumSize: 3) { reader throws(WireError) in
                ServerMessage.SubscriptionBlock(
                    subscriptions: try reader.array { reader throws(WireError) in try reader.varint() },
                    content: try SharedBlock.content(from: &reader))
            })
    }
}

extension CommitHeader {
    func encodeFields(into writer: inout ByteWriter) {
        writer.varint(version)
        writer.zigzag(acceptedAt.microseconds)
        writer.optional(acknowledged) { $0.varint($1) }
        writer.bool(isContinued)
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        self.init(
            session: session, version: try reader.varint(), acceptedAt: Timestamp(microseconds: try reader.zigzag()),
            acknowledged: try reader.optional { reader throws(WireError) in try reader.varint() },
            isContinued: try reader.bool())
    }
}
