internal import SluiceModel

extension ClientMessage: WireMessage {
    enum Code {
        static let hello: UInt8 = 0x01
        static let open: UInt8 = 0x02
        static let authenticate: UInt8 = 0x03
        static let subscribe: UInt8 = 0x04
        static let unsubscribe: UInt8 = 0x05
        static let upload: UInt8 = 0x06
        static let credit: UInt8 = 0x07
        static let reportRequest: UInt8 = 0x08
        static let close: UInt8 = 0x09
        static let declare: UInt8 = 0x0A
        static let members: UInt8 = 0x0B
        static let remove: UInt8 = 0x0C
        static let cached: UInt8 = 0x0D
        static let deploy: UInt8 = 0x0E
        static let variables: UInt8 = 0x0F
        static let listen: UInt8 = 0x10
        static let message: UInt8 = 0x11
        static let job: UInt8 = 0x12
        /// Of messages that do not travel, so that no frame has it.
        static let none: UInt8 = 0
    }

    package var type: UInt8 {
        switch self {
        case .hello: Code.hello
        case .open: Code.open
        case .authenticate: Code.authenticate
        case .subscribe: Code.subscribe
        case .unsubscribe: Code.unsubscribe
        case .upload: Code.upload
        case .credit: Code.credit
        case .reportRequest: Code.reportRequest
        case .close: Code.close
        case .declare: Code.declare
        case .members: Code.members
        case .remove: Code.remove
        case .cached: Code.cached
        case .deploy: Code.deploy
        case .variables: Code.variables
        case .listen: Code.listen
        case .message: Code.message
        case .job: Code.job
        case .write: Code.none
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
        switch type {
        case Code.hello: .hello(try Hello(from: &reader))
        case Code.open: .open(try Open(session: session, from: &reader))
        case Code.authenticate:
            .authenticate(
                session: session,
                credentials: try reader.array(minimumSize: 2) { reader throws(WireError) in
                    try WireCredentials(from: &reader)
                })
        case Code.subscribe: .subscribe(try Subscribe(session: session, from: &reader))
        case Code.unsubscribe: .unsubscribe(session: session, subscription: try reader.varint())
        case Code.upload:
            .upload(session: session, changesets: try Changeset.upload(from: &reader))
        case Code.credit: .credit(session: session, pages: try reader.varint())
        case Code.reportRequest:
            .reportRequest(
                ReportRequest(
                    session: session, request: try reader.varint(), topic: ReportTopic(rawValue: try reader.varint()),
                    argument: try reader.string()))
        case Code.close: .close(session: session)
        case Code.declare: .declare(session: session, schema: try Schema(from: &reader))
        case Code.members:
            .members(
                Members(
                    session: session, subscription: try reader.varint(), isContinued: try reader.bool(),
                    content: try ObjectBlock(from: &reader)))
        case Code.variables: .variables(session: session, values: try ValueMap(from: &reader))
        case Code.remove:
            .remove(
                Removal(
                    session: session, request: try reader.varint(), className: try reader.string(),
                    property: try reader.optional { reader throws(WireError) in try reader.string() }))
        case Code.cached:
            .cached(
                KeptObjects(
                    session: session, request: try reader.varint(), content: try ObjectBlock(from: &reader)))
        case Code.deploy:
            .deploy(
                Deployment(
                    session: session, request: try reader.varint(), isTrial: try reader.bool(),
                    file: try reader.data()))
        case Code.job:
            .job(JobCall(session: session, request: try reader.varint(), question: try JobCall.Question(from: &reader)))
        case Code.listen:
            .listen(
                Listen(
                    session: session, request: try reader.varint(),
                    topics: try reader.array(minimumSize: 1) { reader throws(WireError) in try reader.string() }))
        case Code.message:
            .message(
                Message(
                    session: session, request: try reader.varint(), topic: try reader.string(),
                    payload: try reader.data()))
        default: nil
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
