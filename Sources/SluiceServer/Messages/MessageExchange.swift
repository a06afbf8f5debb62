internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// The ephemeral messages between the clients of a database. None is stored.
///
/// It belongs to the thread of its engine.
final class MessageExchange {
    private let database: Database
    private let permissions: Permissions
    private let subscriptions: Subscriptions
    /// Who listens.
    private var topics = MessageTopics()
    /// What clients have sent that the other servers of the cluster have not been told.
    private var unrelayed: [[UInt8]] = []

    init(_ database: Database, _ permissions: Permissions, _ subscriptions: Subscriptions) {
        self.database = database
        self.permissions = permissions
        self.subscriptions = subscriptions
    }

    /// Notes what a session listens to, and returns the answer.
    func listen(_ request: ClientMessage.Listen, by session: ServerSession) -> ServerMessage {
        if let problem = MessageLimits.problem(withTopics: request.topics) {
            return .failure(of: request.request, in: session, .limitExceeded, problem)
        }
        guard mayExchange(session.id) || request.topics.isEmpty else {
            return .failure(of: request.request, in: session, .permissionDenied, Self.lackOfRight)
        }
        topics.listen(session.id, to: request.topics)
        return .report(session: session.id.session, request: request.request, json: Array("{}".utf8))
    }

    /// Passes a message on to whoever listens to its topic, and returns the answer for its author.
    func pass(
        _ message: ClientMessage.Message, of session: ServerSession, _ output: inout TurnOutput, now: Timestamp
    ) -> ServerMessage {
        if let problem = MessageLimits.problem(withTopic: message.topic, payload: message.payload) {
            return .failure(of: message.request, in: session, .limitExceeded, problem)
        }
        guard mayExchange(session.id) else {
            return .failure(of: message.request, in: session, .permissionDenied, Self.lackOfRight)
        }
        guard topics.charge(session.id, now: now) else {
            return .failure(
                of: message.request, in: session, .limitExceeded,
                "a store sends at most \(MessageLimits.rateMax) messages in a second")
        }
        // Who may not receive messages any more listens in vain.
        let listeners = topics.listeners(of: message.topic, except: session.id).filter(mayExchange)
        let passed = ServerMessage.Message(
            session: 0, topic: message.topic, userID: session.user.id, sentAt: now, payload: message.payload)
        offer(passed, to: listeners, &output)
        if database.journal != nil { unrelayed.append(Frame.encode(ServerMessage.message(passed))) }
        return .report(
            session: session.id.session, request: message.request,
            json: Array(JSONText.object([("sessions", .number(UInt64(listeners.count)))]).text.utf8))
    }

    /// Passes a message of another server's client on to whoever listens to its topic here and may hear it. That server
    /// has judged whether its client may send it.
    func deliver(_ frame: [UInt8], _ output: inout TurnOutput) {
        guard case .message(let message)? = try? Frame.decode(frame, as: ServerMessage.self).first else { return }
        offer(message, to: topics.listeners(of: message.topic).filter(mayExchange), &output)
    }

    /// Removes and returns the messages for the other servers of the cluster, as frames.
    func takeUnrelayed() -> [[UInt8]] {
        defer { unrelayed = [] }
        return unrelayed
    }

    /// Forgets a session that has ended.
    func close(_ id: SessionID) { topics.close(id) }

    /// Offers a message to sessions, without its author's id to those that may not know it.
    private func offer(
        _ message: ServerMessage.Message, to listeners: [SessionID], _ output: inout TurnOutput
    ) {
        let audiences = Dictionary(grouping: listeners) { mayKnow(message.userID, $0) }
        for (userID, listeners) in [(message.userID, audiences[true] ?? []), (nil, audiences[false] ?? [])] {
            for (number, sessions) in Dictionary(grouping: listeners, by: \.session).sorted(by: { $0.key < $1.key }) {
                var offered = message
                offered.session = number
                offered.userID = userID
                output.append([.offer(Frame.encode(ServerMessage.message(offered)), to: sessions.map(\.connection))])
            }
        }
    }

    /// Whether the user of a session may be told the id of a user.
    private func mayKnow(_ userID: String?, _ id: SessionID) -> Bool {
        guard let userID, let reader = subscriptions[id], reader.holder.userID != userID else { return true }
        return !reader.access.hides(userID: userID, in: database.storage)
    }

    private func mayExchange(_ id: SessionID) -> Bool {
        !permissions.hasRules || permissions.binding(of: id).has(.messages)
    }

    private static let lackOfRight = "the database's rules do not give this user the right 'messages'"
}

extension ServerMessage {
    fileprivate static func failure(
        of request: UInt64, in session: ServerSession, _ code: ErrorCode, _ message: String
    ) -> ServerMessage {
        .reportError(.init(session: session.id.session, request: request, code: code, message: message, position: nil))
    }
}
