internal import SluiceModel

extension ServerMessage: WireMessage {
    /// The codes of the types, as PROTOCOL.md lists them.
    package enum Code: UInt8, CaseIterable, Sendable {
        case hello = 0x81
        case opened = 0x82
        case schema = 0x83
        case page = 0x84
        case commit = 0x85
        case complete = 0x86
        case subscriptionError = 0x87
        case rejected = 0x88
        case error = 0x89
        case report = 0x8A
        case listMembers = 0x8B
        case reportError = 0x8C
        case withdrawn = 0x8D
        case moved = 0x8E
        case message = 0x8F
        /// With the bit that lets a client skip it.
        case digest = 0xCD
        case login = 0xCE
        case context = 0xCF
        case places = 0xD0
    }

    package var type: UInt8 { code.rawValue }

    package var code: Code {
        switch self {
        case .hello: .hello
        case .opened: .opened
        case .schema: .schema
        case .page: .page
        case .commit: .commit
        case .complete: .complete
        case .subscriptionError: .subscriptionError
        case .rejected: .rejected
        case .error: .error
        case .report: .report
        case .listMembers: .listMembers
        case .reportError: .reportError
        case .digest: .digest
        case .login: .login
        case .context: .context
        case .withdrawn: .withdrawn
        case .moved: .moved
        case .message: .message
        case .places: .places
        }
    }

    package var session: UInt64 {
        switch self {
        case .hello: 0
        case .opened(let opened): opened.session
        case .page(let page): page.session
        case .commit(let commit): commit.header.session
        case .complete(let complete): complete.session
        case .subscriptionError(let error): error.session
        case .rejected(let rejected): rejected.session
        case .error(let failure): failure.session
        case .reportError(let error): error.session
        case .digest(let check): check.session
        case .login(let login): login.session
        case .context(let context): context.session
        case .withdrawn(let withdrawn): withdrawn.session
        case .moved(let moved): moved.session
        case .message(let message): message.session
        case .places(let places): places.session
        case .schema(let session, _), .report(let session, _, _), .listMembers(let session, _): session
        }
    }

    package func encodeFields(into writer: inout ByteWriter) {
        switch self {
        case .hello(let reply): reply.encodeFields(into: &writer)
        case .opened(let opened): opened.encodeFields(into: &writer)
        case .schema(_, let schema): schema.encode(into: &writer)
        case .page(let page): page.encodeFields(into: &writer)
        case .commit(let commit): commit.encodeFields(into: &writer)
        case .complete(let complete): complete.encodeFields(into: &writer)
        case .subscriptionError(let error): error.encodeFields(into: &writer)
        case .rejected(let rejected): rejected.rejection.encode(into: &writer)
        case .error(let failure): failure.encodeFields(into: &writer)
        case .report(_, let request, let json):
            writer.varint(request)
            writer.data(json)
        case .listMembers(_, let subscription): writer.varint(subscription)
        case .reportError(let error): error.encodeFields(into: &writer)
        case .digest(let check):
            writer.varint(check.subscription)
            writer.varint(check.version)
            check.digest.encode(into: &writer)
        case .login(let login):
            writer.optional(login.expiresAt) { $0.zigzag($1.microseconds) }
            writer.optional(login.credential) { $1.encode(into: &$0) }
        case .context(let context):
            context.context.encode(into: &writer)
            context.fields.encode(into: &writer)
            writer.array(context.hidden) { $1.encode(into: &$0) }
        case .withdrawn(let withdrawn):
            writer.varint(withdrawn.request)
            withdrawn.content.encode(into: &writer)
        case .moved(let moved): writer.string(moved.url)
        case .places(let places):
            writer.array(places.subscriptions) { $0.varint($1) }
            writer.array(places.rows) { writer, place in
                place.object.encode(into: &writer)
                writer.optional(place.key) { $0.string($1) }
            }
        case .message(let message):
            writer.string(message.topic)
            writer.optional(message.userID) { $0.string($1) }
            writer.zigzag(message.sentAt.microseconds)
            writer.data(message.payload)
        }
    }

    package static func decode(
        type: UInt8, session: UInt64, from reader: inout ByteReader
    ) throws(WireError) -> ServerMessage? {
        guard let code = Code(rawValue: type) else { return nil }
        return switch code {
        case .hello: .hello(try HelloReply(from: &reader))
        case .opened: .opened(try Opened(session: session, from: &reader))
        case .schema: .schema(session: session, schema: try Schema(from: &reader))
        case .page: .page(try Page(session: session, from: &reader))
        case .commit: .commit(try Commit(session: session, from: &reader))
        case .places:
            .places(
                Places(
                    session: session,
                    subscriptions: try reader.array(minimumSize: 1) { reader throws(WireError) in
                        try reader.varint()
                    },
                    rows: try reader.array(minimumSize: 3) { reader throws(WireError) in
                        Place(
                            try ObjectRef(from: &reader),
                            try reader.optional { reader throws(WireError) in try reader.string() })
                    }))
        case .complete: .complete(try Complete(session: session, from: &reader))
        case .subscriptionError: .subscriptionError(try SubscriptionError(session: session, from: &reader))
        case .rejected: .rejected(Rejected(session: session, rejection: try Rejection(from: &reader)))
        case .error: .error(try Failure(session: session, from: &reader))
        case .report: .report(session: session, request: try reader.varint(), json: try reader.data())
        case .listMembers: .listMembers(session: session, subscription: try reader.varint())
        case .reportError: .reportError(try ReportError(session: session, from: &reader))
        case .digest:
            .digest(
                DigestCheck(
                    session: session, subscription: try reader.varint(), version: try reader.varint(),
                    digest: try ObjectID(from: &reader)))
        case .login:
            .login(
                Login(
                    session: session,
                    expiresAt: try reader.optional { reader throws(WireError) in
                        Timestamp(microseconds: try reader.zigzag())
                    },
                    credential: try reader.optional { reader throws(WireError) in try WireCredentials(from: &reader) }))
        case .context:
            .context(
                Context(
                    session: session, context: try ObjectID(from: &reader), fields: try ObjectID(from: &reader),
                    hidden: try reader.array(minimumSize: 2) { reader throws(WireError) in
                        try HiddenProperties(from: &reader)
                    }))
        case .withdrawn:
            .withdrawn(
                KeptObjects(
                    session: session, request: try reader.varint(), content: try ObjectBlock(from: &reader)))
        case .moved: .moved(Moved(session: session, url: try reader.string()))
        case .message:
            .message(
                Message(
                    session: session, topic: try reader.string(),
                    userID: try reader.optional { reader throws(WireError) in try reader.string() },
                    sentAt: Timestamp(microseconds: try reader.zigzag()), payload: try reader.data()))
        }
    }
}

extension ServerMessage.HiddenProperties: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.varint(classIndex)
        properties.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(classIndex: try reader.position(), properties: try PropertySet(from: &reader))
    }
}

extension ServerMessage.HelloReply {
    func encodeFields(into writer: inout ByteWriter) {
        writer.varint(version)
        writer.varint(features.rawValue)
        writer.zigzag(time.microseconds)
        limits.encode(into: &writer)
        writer.string(agent)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        let version = try reader.varint()
        let features = Features(rawValue: try reader.varint())
        let time = try reader.zigzag()
        guard time.magnitude <= UInt64(HybridClock.distanceMax) else {
            throw reader.malformed("a server's clock at \(time) microseconds")
        }
        self.init(
            version: version, features: features, time: Timestamp(microseconds: time),
            limits: try ServerLimits(from: &reader),
            agent: try reader.string())
    }
}

extension ServerMessage.Opened {
    /// The bit of the outcome's byte which says that no schema follows.
    private static let omitsSchema: UInt8 = 0x80

    func encodeFields(into writer: inout ByteWriter) {
        identity.encode(into: &writer)
        writer.byte(outcome.rawValue | (schema == nil ? Self.omitsSchema : 0))
        writer.varint(version)
        writer.varint(acknowledged)
        writer.array(rejections) { $1.encode(into: &$0) }
        writer.optional(userID) { $0.string($1) }
        schema?.encode(into: &writer)
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        let identity = try ClientIdentity(from: &reader)
        let code = try reader.byte()
        guard let outcome = ServerMessage.OpenOutcome(rawValue: code & ~Self.omitsSchema) else {
            throw reader.malformed("\(code) is no outcome of an open")
        }
        self.init(
            session: session, identity: identity, outcome: outcome, version: try reader.varint(),
            acknowledged: try reader.varint(),
            rejections: try reader.array(minimumSize: 2) { reader throws(WireError) in
                try ServerMessage.Rejection(from: &reader)
            },
            userID: try reader.optional { reader throws(WireError) in try reader.string() },
            schema: code & Self.omitsSchema == 0 ? try Schema(from: &reader) : nil)
    }
}

extension ServerMessage.Complete {
    /// The bit of the kind's byte which says that figures follow.
    private static let hasFigures: UInt8 = 0x80

    func encodeFields(into writer: inout ByteWriter) {
        writer.varint(subscription)
        writer.varint(version)
        writer.zigzag(acceptedAt.microseconds)
        writer.byte(kind.rawValue | (figures == nil ? 0 : Self.hasFigures))
        writer.optional(digest) { $1.encode(into: &$0) }
        if let figures { writer.array(figures) { $1.encode(into: &$0) } }
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        let subscription = try reader.varint()
        let version = try reader.varint()
        let acceptedAt = Timestamp(microseconds: try reader.zigzag())
        let code = try reader.byte()
        let kind = try Kind(code: code & ~Self.hasFigures, in: reader)
        self.init(
            session: session, subscription: subscription, version: version, acceptedAt: acceptedAt, kind: kind,
            digest: try reader.optional { reader throws(WireError) in try ObjectID(from: &reader) },
            figures: code & Self.hasFigures == 0 ? nil : try reader.figures())
    }
}

extension ServerMessage.SubscriptionError {
    func encodeFields(into writer: inout ByteWriter) {
        writer.varint(subscription)
        writer.string(code.rawValue)
        writer.string(message)
        writer.optional(position) { $0.varint($1) }
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        self.init(
            session: session, subscription: try reader.varint(), code: ErrorCode(rawValue: try reader.string()),
            message: try reader.string(),
            position: try reader.optional { reader throws(WireError) in try reader.varint() })
    }
}

extension ServerMessage.ReportError {
    func encodeFields(into writer: inout ByteWriter) {
        writer.varint(request)
        writer.string(code.rawValue)
        writer.string(message)
        writer.optional(position) { $0.varint($1) }
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        self.init(
            session: session, request: try reader.varint(), code: ErrorCode(rawValue: try reader.string()),
            message: try reader.string(),
            position: try reader.optional { reader throws(WireError) in try reader.varint() })
    }
}

extension ServerMessage.Rejection: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.varint(sequence)
        writer.array(reasons) {
            $0.optional($1.object) { $1.encode(into: &$0) }
            $0.string($1.code.rawValue)
            $0.string($1.message)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            sequence: try reader.varint(),
            reasons: try reader.array(minimumSize: 3) { reader throws(WireError) in
                Reason(
                    object: try reader.optional { reader throws(WireError) in try ObjectRef(from: &reader) },
                    code: ErrorCode(rawValue: try reader.string()), message: try reader.string())
            })
    }
}

extension ServerMessage.Failure {
    func encodeFields(into writer: inout ByteWriter) {
        writer.string(code.rawValue)
        writer.string(message)
        writer.byte(action.rawValue)
        writer.varint(retryAfter)
    }

    init(session: UInt64, from reader: inout ByteReader) throws(WireError) {
        let code = ErrorCode(rawValue: try reader.string())
        let message = try reader.string()
        let actionCode = try reader.byte()
        guard let action = ErrorAction(rawValue: actionCode) else {
            throw reader.malformed("\(actionCode) is no action on an error")
        }
        self.init(
            session: session, code: code, message: message, action: action, retryAfter: try reader.varint())
    }
}
