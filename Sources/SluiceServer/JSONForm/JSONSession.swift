internal import SluiceExchange
internal import SluiceModel
internal import SluiceQuery
internal import SluiceTransport
internal import SluiceWire

/// Stands between a connection in the JSON form and ``ConnectionProtocol``: makes messages of texts, and texts of frames.
/// A machine without input or output.
///
/// It keeps the schema, for its names, and little for each subscription. The one session of the connection has the number
/// 1, and subscriptions have the numbers that the client gives them.
///
///     phase     a text         opened            moved, failed
///     --------------------------------------------------------
///     new       opening (o)    =                 ended
///     opening   held           open, held ones   ended
///     open      handled        =                 ended
///     ended     dropped        =                 =
///
/// `=` leaves the phase, and nothing happens. (o) is refused if the text is not `open`.
struct JSONSession: Sendable {
    /// The number of the session.
    static let number: UInt64 = 1
    /// The most texts, and the bytes of them, that wait until the session is open.
    private static let heldCountMax = 1_000
    private static let heldByteCountMax = 1 << 20

    enum Step: Sendable {
        /// Handles a message. The byte count is about the memory that it takes.
        case handle(ClientMessage, byteCount: Int)
        case reply([UInt8])
    }

    /// What a frame is to the client.
    struct Translation {
        var pieces: [JSONPiece] = []
        /// What the pieces speak of: the frame's messages, after those of earlier frames that begin the same commit.
        var messages: [ServerMessage]
        /// How many pages the frame has, for which the client's credit is given back.
        var pageCount = 0
        /// Set where the connection is to be closed after the texts.
        var close: (code: CloseCode, reason: String)?
        /// What the client had sent before the session was open.
        var steps: [Step] = []
    }

    enum Phase {
        /// The client has not opened the session.
        case new
        case opening(JSONRequest.Open)
        case open
        case ended
    }

    let database: String
    let now: @Sendable () -> Timestamp
    private(set) var phase = Phase.new
    var schema = Schema()
    var client: JSONClientName?
    var context: JSONClientName.Context?
    private var isReadOnly = false
    var subscriptions: [UInt64: JSONSubscription] = [:]
    private var lastSubscription: UInt64 = 0
    /// What the client had reached before the session, if that still means something.
    var known: UInt64?
    /// What the client has in this session is of these versions, as far as it may name them.
    var versions: ClosedRange<UInt64>?
    /// The questions that change records of jobs, and have no answer yet.
    var jobs: Set<UInt64> = []
    /// What is known of the login before the session is open.
    var login: ServerMessage.Login?
    var held: [[UInt8]] = []
    var heldByteCount = 0
    /// The parts so far of a commit that is told in several.
    var begun: [ServerMessage] = []

    init(database: String, now: @escaping @Sendable () -> Timestamp) {
        self.database = database
        self.now = now
    }

    /// Notes that the session is open.
    ///
    /// - Returns: the client's message that asked for it; nil if none is waiting for that.
    mutating func noteOpening() -> JSONRequest.Open? {
        guard case .opening(let open) = phase else { return nil }
        phase = .open
        return open
    }

    /// Ends the session: what the client sends from now on is dropped.
    mutating func end() { phase = .ended }

    // MARK: From the client

    /// Handles a text message.
    mutating func receive(_ text: [UInt8]) -> [Step] {
        do throws(JSONRequestError) {
            switch phase {
            case .ended: return []
            case .open:
                do throws(JSONRequestError) { return try handle(JSONRequest(text), byteCount: text.count) } catch {
                    return refuse(text, error)
                }
            case .opening:
                heldByteCount += text.count
                guard held.count < Self.heldCountMax, heldByteCount <= Self.heldByteCountMax else {
                    heldByteCount -= text.count
                    throw JSONRequestError(message: "the session is not open yet: wait for opened")
                }
                held.append(text)
                return []
            case .new:
                guard text.count <= JSONRequest.openByteCountMax else {
                    throw JSONRequestError(message: "open has at most \(JSONRequest.openByteCountMax) bytes")
                }
                guard case .open(let open) = try JSONRequest(text) else {
                    throw JSONRequestError(message: "the first message is open")
                }
                return begin(open, byteCount: text.count)
            }
        } catch { return [.reply(JSONMessage.error(error))] }
    }

    /// Refuses a message of an open session by the number that it has, so that the client knows which one it is. A write
    /// is handed on, since it has a place among the others.
    private mutating func refuse(_ text: [UInt8], _ error: JSONRequestError) -> [Step] {
        switch JSONRequest.Subject(text) {
        case .subscription(let id) where id > lastSubscription:
            return [.reply(JSONMessage.error(error, subscription: id))]
        case .question(let id): return [.reply(JSONMessage.error(error, ask: id))]
        case .write(let sequence) where !isReadOnly:
            let write = ClientMessage.Write(
                session: Self.number, sequence: sequence, operations: "", operationCount: 0, fault: error.message)
            return [.handle(.write(write), byteCount: Self.memory(of: 0))]
        case .write(let sequence):
            return [
                .reply(JSONMessage.rejected(sequence, .permissionDenied, error.message)),
                .reply(JSONMessage.acknowledged(sequence, at: versions?.upperBound ?? 0)),
            ]
        case .subscription, nil: return [.reply(JSONMessage.error(error))]
        }
    }

    private mutating func begin(_ open: JSONRequest.Open, byteCount: Int) -> [Step] {
        phase = .opening(open)
        isReadOnly = open.isReadOnly
        let request = ClientMessage.Open(
            session: Self.number, path: database, credentials: open.credentials, identity: open.client?.identity,
            version: open.version, acknowledged: open.acknowledged, options: open.isReadOnly ? .readOnly : [],
            variables: open.variables, schema: Schema())
        return [.handle(.open(request), byteCount: Self.memory(of: byteCount))]
    }

    /// What the messages of a text take, about.
    private static func memory(of byteCount: Int) -> Int { 256 + 2 * byteCount }

    private mutating func handle(_ request: JSONRequest, byteCount: Int) throws(JSONRequestError) -> [Step] {
        let message: ClientMessage
        switch request {
        case .open: throw JSONRequestError(message: "the session is open already")
        case .subscribe(let subscribe):
            do { message = try self.subscribe(subscribe) } catch {
                switch error {
                case .request(let error): throw error
                case .query(let error):
                    lastSubscription = subscribe.id
                    return [.reply(Self.refusal(of: subscribe, error))]
                }
            }
        case .unsubscribe(let id):
            guard id <= lastSubscription else {
                throw JSONRequestError(message: "there was no subscription \(id)")
            }
            subscriptions[id] = nil
            message = .unsubscribe(session: Self.number, subscription: id)
        case .write(let sequence, let operations, let count):
            guard !isReadOnly else { throw JSONRequestError(message: "a read-only session takes no writes") }
            message = .write(
                .init(
                    session: Self.number, sequence: sequence, operations: operations, operationCount: count))
        case .ask(let id, let topic, let argument):
            message = .reportRequest(
                .init(session: Self.number, request: id, topic: topic, argument: argument))
        case .job(let id, let request):
            guard let question = request.question(schema) else {
                throw JSONRequestError(message: "there is no class '\(request.className)', or none of its keys is such")
            }
            jobs.insert(id)
            message = .job(.init(session: Self.number, request: id, question: question))
        case .deploy(let id, let file, let isTrial):
            message = .deploy(
                .init(session: Self.number, request: id, isTrial: isTrial, file: Array(file.utf8)))
        case .renew(let credentials): message = .authenticate(session: Self.number, credentials: credentials)
        }
        return [.handle(message, byteCount: Self.memory(of: byteCount))]
    }

    private enum SubscribeError: Error {
        case request(JSONRequestError)
        case query(QueryError)
    }

    private mutating func subscribe(_ request: JSONRequest.Subscribe) throws(SubscribeError) -> ClientMessage {
        guard request.id > lastSubscription else {
            throw .request(
                JSONRequestError(
                    message: "subscription \(request.id) cannot be made: numbers ascend, and the next one is above "
                        + "\(lastSubscription)"))
        }
        var text = request.query
        var resume: ClientMessage.Resume?
        let since = request.since.flatMap { isKnown($0) ? $0 : nil }
        if !request.arguments.isEmpty || since != nil {
            let query: Query
            do throws(QueryError) {
                query = try Query.parse(
                    request.query, arguments: request.arguments, areTextsUntyped: true, schema: schema)
            } catch { throw .query(error) }
            text = query.canonicalText
            if let since {
                // It keeps no list of its members.
                resume = ClientMessage.Resume(version: since, queryHash: query.hash, memberCount: 0)
            }
        }
        lastSubscription = request.id
        subscriptions[request.id] = JSONSubscription(audience: .init(text, showsLinks: request.showsLinks))
        return .subscribe(
            .init(session: Self.number, subscription: request.id, query: text, resume: resume))
    }

    /// Whether the client can have had everything of a subscription at a version, in this history and in what it may
    /// read now.
    private func isKnown(_ version: UInt64) -> Bool {
        version > 0 && (version <= known ?? 0 || versions?.contains(version) ?? false)
    }

    /// How changes of a subscription are told; nil where none are: it is not complete, or not there.
    func audience(of subscription: UInt64) -> JSONSubscription.Audience? {
        guard let known = subscriptions[subscription], known.state == .complete else { return nil }
        return known.audience
    }

    /// Notes that complete subscriptions are at a version.
    mutating func note(_ version: UInt64) {
        let first = versions?.lowerBound ?? version
        versions = min(first, version)...max(versions?.upperBound ?? 0, version)
    }

    private static func refusal(of request: JSONRequest.Subscribe, _ error: QueryError) -> [UInt8] {
        let refusal = RequestRejection(error)
        return JSONMessage.error(
            refusal.code, refusal.message, subscription: request.id, position: refusal.position.map(UInt64.init),
            action: .report)
    }
}
