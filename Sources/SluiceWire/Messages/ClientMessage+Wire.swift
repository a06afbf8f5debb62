internal import SluiceModel

extension ClientMessage: WireMessage {
    /// The codes of the types, as PROTOCOL.md lists them.
    package enum Code: UInt8, CaseIterable, Sendable {
        case hello = 0x01
        case open = 0x02
        case authenticate = 0x03
        case subscribe = 0x04
        case unsubscribe = 0x05
        case upload = 0x06
        case credit = 0x07
        case reportRequest = 0x08
        case close = 0x09
        case declare = 0x0A
        case members = 0x0B
        case remove = 0x0C
        case cached = 0x0D
        case deploy = 0x0E
        case variables = 0x0F
        case listen = 0x10
        case message = 0x11
        case job = 0x12
    }

    /// The code of the type; 0, which no frame has, for a message that does not travel.
    package var type: UInt8 { code?.rawValue ?? 0 }

    /// The code of the type; nil for a message that does not travel.
    package var code: Code? {
        switch self {
        case .hello: .hello
        case .open: .open
        case .authenticate: .authenticate
        case .subscribe: .subscribe
        case .unsubscribe: .unsubscribe
        case .upload: .upload
        case .credit: .credit
        case .reportRequest: .reportRequest
        case .close: .close
        case .declare: .declare
        case .members: .members
        case .remove: .remove
        case .cached: .cached
        case .deploy: .deploy
        case .variables: .variables
        case .listen: .listen
        case .message: .message
        case .job: .job
        case .write: nil
        }
    }

    package var session: UInt64 {
        switch self {
        case .hello: 0
        case .open(let open): open.session
        case .subscribe(let subscribe): subscribe.session
        case .reportRequest(let request): request.session
        case .members(let members): members.session
        case .remove(let removal): removal.session
        case .cached(let cached): cached.session
        case .deploy(let deployment): deployment.session
        case .listen(let listen): listen.session
        case .message(let message): message.session
        case .job(let call): call.session
        case .write(let write): write.session
        case .authenticate(let session, _), .unsubscribe(let session, _), .upload(let session, _),
            .credit(let session, _), .close(let session), .declare(let session, _), .variables(let session, _):
            session
        }
    }

    package func encodeFields(into writer: inout ByteWriter) {
        switch self {
        case .hello(let hello): hello.encodeFields(into: &writer)
        case .open(let open): open.encodeFields(into: &writer)
        case .authenticate(_, let credentials): writer.array(credentials) { $1.encode(into: &$0) }
        case .subscribe(let subscribe): subscribe.encodeFields(into: &writer)
        case .unsubscribe(_, let subscription): writer.varint(subscription)
        case .upload(_, let changesets): writer.array(changesets) { $1.encode(into: &$0) }
        case .credit(_, let pages): writer.varint(pages)
        case .reportRequest(let request):
            writer.varint(request.request)
            writer.varint(request.topic.rawValue)
            writer.string(request.argument)
        case .close: break
        case .declare(_, let schema): schema.encode(into: &writer)
        case .members(let members):
            writer.varint(members.subscription)
            writer.bool(members.isContinued)
            members.content.encode(into: &writer)
        case .remove(let removal):
            writer.varint(removal.request)
            writer.string(removal.className)
            writer.optional(removal.property) { $0.string($1) }
        case .cached(let cached):
            writer.varint(cached.request)
            cached.content.encode(into: &writer)
        case .deploy(let deployment):
            writer.varint(deployment.request)
            writer.bool(deployment.isTrial)
            writer.data(deployment.file)
        case .variables(_, let values): values.encode(into: &writer)
        case .listen(let listen):
            writer.varint(listen.request)
            writer.array(listen.topics) { $0.string($1) }
        case .message(let message):
            writer.varint(message.request)
            writer.string(message.topic)
            writer.data(message.payload)
        case .write: preconditionFailure("a write in JSON does not travel")
        case .job(let call):
            writer.varint(call.request)
            call.question.encode(into: &writer)
        }
    }

    package static func decode(
        type: UInt8, session: UInt64, from reader: inout ByteReader
    ) throws(WireError) -> ClientMessage? {
        guard let code = Code(rawValue: type) else { return nil }
        return switch code {
        case .hello: .hello(try Hello(from: &reader))
        case .open: .open(try Open(session: session, from: &reader))
        case .authenticate:
            .authenticate(
                session: session,
                credentials: try reader.array(minimumSize: 2) { reader throws(WireError) in
                    try WireCredentials(from: &reader)
                })
        case .subscribe: .subscribe(try Subscribe(session: session, from: &reader))
        case .unsubscribe: .unsubscribe(session: session, subscription: try reader.varint())
        case .upload:
            .upload(session: session, changesets: try Changeset.upload(from: &reader))
        case .credit: .credit(session: session, pages: try reader.varint())
        case .reportRequest:
            .reportRequest(
                ReportRequest(
                    session: session, request: try reader.varint(), topic: ReportTopic(rawValue: try reader.varint()),
                    argument: try reader.string()))
        case .close: .close(session: session)
        case .declare: .declare(session: session, schema: try Schema(from: &reader))
        case .members:
            .members(
                Members(
                    session: session, subscription: try reader.varint(), isContinued: try reader.bool(),
                    content: try ObjectBlock(from: &reader)))
        case .variables: .variables(session: session, values: try ValueMap(from: &reader))
        case .remove:
            .remove(
                Removal(
                    session: session, request: try reader.varint(), className: try reader.string(),
                    property: try reader.optional { reader throws(WireError) in try reader.string() }))
        case .cached:
            .cached(
                KeptObjects(
                    session: session, request: try reader.varint(), content: try ObjectBlock(from: &reader)))
        case .deploy:
            .deploy(
                Deployment(
                    session: session, request: try reader.varint(), isTrial: try reader.bool(),
                    file: try reader.data()))
        case .job:
            .job(JobCall(session: session, request: try reader.varint(), question: try JobCall.Question(from: &reader)))
        case .listen:
            .listen(
                Listen(
                    session: session, request: try reader.varint(),
                    topics: try reader.array(minimumSize: 1) { reader throws(WireError) in try reader.string() }))
        case .message:
            .message(
                Message(
                    session: session, request: try reader.varint(), topic: try reader.string(),
                    payload: try reader.data()))
        }
    }
}

extension ClientMessage.Hello {
    func encodeFields(into writer: inout ByteWriter) {
        writer.varint(versionMin)
        writer.varint(versionMax)
        writer.varint(features.rawValue)
        writer.string(agent)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            versionMin: try reader.varint(), versionMax: try reader.varint(),
            features: Features(rawValue: try reader.varint()), agent: try reader.string())
    }
}

extension ClientMessage.Open {
    func encodeFields(into writer: inout ByteWriter) {
        writer.string(path)
        writer.array(credentials) { $1.encode(into: &$0) }
        writer.optional(identity) { $1.encode(into: &$0) }
        writer.varint(version)
        writer.varint(acknowledged)
        writer.varint(options.rawValue)
        variables.encode(into: &writer)
        schema.encode(into: &writer)
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        self.init(
            session: session, path: try reader.string(),
            credentials: try reader.array(minimumSize: 2) { reader throws(WireError) in
                try WireCredentials(from: &reader)
            },
            identity: try reader.optional { reader throws(WireError) in try ClientIdentity(from: &reader) },
            version: try reader.varint(), acknowledged: try reader.varint(),
            options: Options(rawValue: try reader.varint()), variables: try ValueMap(from: &reader),
            schema: try Schema(from: &reader))
    }
}

extension ClientMessage.Subscribe {
    func encodeFields(into writer: inout ByteWriter) {
        writer.varint(subscription)
        writer.string(query)
        if let basis {
            writer.byte(Self.hasBasis)
            writer.varint(basis)
        } else {
            writer.optional(resume) { $1.encode(into: &$0) }
        }
    }

    /// Follows the query where a basis does, and not an optional resume, which begins with 0 or 1.
    private static let hasBasis: UInt8 = 2

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        let (subscription, query) = (try reader.varint(), try reader.string())
        let code = try reader.byte()
        switch code {
        case 0: self.init(session: session, subscription: subscription, query: query)
        case 1:
            self.init(
                session: session, subscription: subscription, query: query,
                resume: try ClientMessage.Resume(from: &reader))
        case Self.hasBasis:
            self.init(session: session, subscription: subscription, query: query, basis: try reader.varint())
        default: throw reader.malformed("\(code) where 0, 1 or 2 says what a subscription goes on from")
        }
    }
}

extension ClientMessage.Resume: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.varint(version)
        queryHash.encode(into: &writer)
        writer.varint(memberCount)
        writer.bool(isWhole)
        writer.optional(digest) { $1.encode(into: &$0) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            version: try reader.varint(), queryHash: try ObjectID(from: &reader), memberCount: try reader.varint(),
            isWhole: try reader.bool(),
            digest: try reader.optional { reader throws(WireError) in try ObjectID(from: &reader) })
    }
}

extension WireCredentials: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.varint(kind.rawValue)
        writer.data(payload)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(Kind(rawValue: try reader.varint()), try reader.data())
    }
}

extension ClientIdentity: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        databaseID.encode(into: &writer)
        writer.varint(epoch)
        writer.varint(clientID)
        nonce.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            databaseID: try ObjectID(from: &reader), epoch: try reader.varint(), clientID: try reader.varint(),
            nonce: try ObjectID(from: &reader))
    }
}
