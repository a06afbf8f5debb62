internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Ephemeral messages between the clients of a database.
extension DatabaseEngine {
    /// Notes what a session listens to.
    func listen(_ request: ClientMessage.Listen, by session: ServerSession) -> ServerMessage {
        if let problem = MessageLimits.problem(withTopics: request.topics) {
            return .failure(of: request.request, in: session, .limitExceeded, problem)
        }
        guard mayExchangeMessages(session.id) || request.topics.isEmpty else {
            return .failure(of: request.request, in: session, .permissionDenied, Self.messageRefusal)
        }
        topics.listen(session.id, to: request.topics)
        return .report(session: session.id.session, request: request.request, json: Array("{}".utf8))
    }

    /// Passes a message on to whoever listens to its topic.
    func pass(_ message: ClientMessage.Message, of session: ServerSession, now: Timestamp) -> ServerMessage {
        if let problem = MessageLimits.problem(withTopic: message.topic, payload: message.payload) {
            return .failure(of: message.request, in: session, .limitExceeded, problem)
        }
        guard mayExchangeMessages(session.id) else {
            return .failure(of: message.request, in: session, .permissionDenied, Self.messageRefusal)
        }
        guard topics.charge(session.id, now: now) else {
            return .failure(
                of: message.request, in: session, .limitExceeded,
                "a store sends at most \(MessageLimits.rateMax) messages in a second")
        }
        // Who may not receive messages any more listens in vain.
        let listeners = topics.listeners(of: message.topic, except: session.id).filter(mayExchangeMessages)
        let passed = ServerMessage.Message(
            session: 0, topic: message.topic, userID: session.user.id, sentAt: now, payload: message.payload)
        offer(passed, to: listeners)
        relay(passed)
        return .report(
            session: session.id.session, request: message.request,
            json: Array(JSONText.object([("sessions", .number(UInt64(listeners.count)))]).text.utf8))
    }

    /// Passes a message of another server's client on to whoever listens to its topic here and may hear it. That server
    /// has judged whether its client may send it.
    func deliver(_ frame: [UInt8]) {
        guard case .message(let message)? = try? Frame.decode(frame, as: ServerMessage.self).first else { return }
        offer(message, to: topics.listeners(of: message.topic).filter(mayExchangeMessages))
    }

    /// Offers a message to sessions, without its author's id to those that may not know it.
    private func offer(_ message: ServerMessage.Message, to listeners: [SessionID]) {
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

    private func mayExchangeMessages(_ id: SessionID) -> Bool {
        !permissions.hasRules || permissions.binding(of: id).has(.messages)
    }

    private static let messageRefusal = "the database's rules do not give this user the right 'messages'"
}

extension ServerMessage {
    fileprivate static func failure(
        of request: UInt64, in session: ServerSession, _ code: ErrorCode, _ message: String
    ) -> ServerMessage {
        .reportError(.init(session: session.id.session, request: request, code: code, message: message, position: nil))
    }
}
