internal import SluiceModel
internal import SluiceWire

/// Who listens to which topics of ephemeral messages. The server is told the topics, whole, whenever they change.
final class MessageListeners {
    private let session: SyncSession
    private let requests: ServerRequests
    private let log: LogSink?
    private var listeners: [UInt64: (topic: String, listener: EventListener<SessionMessage>)] = [:]
    private var lastNumber: UInt64 = 0
    private var topics: Set<String> = []

    init(_ session: SyncSession, _ requests: ServerRequests, log: LogSink?) {
        self.session = session
        self.requests = requests
        self.log = log
    }

    /// Adds one who listens to a topic.
    ///
    /// - Returns: the number for ``remove(_:)``.
    func add(_ topic: String, _ listener: EventListener<SessionMessage>) -> UInt64 {
        lastNumber += 1
        listeners[lastNumber] = (topic, listener)
        topicsMayHaveChanged()
        return lastNumber
    }

    func remove(_ number: UInt64) {
        guard listeners.removeValue(forKey: number) != nil else { return }
        topicsMayHaveChanged()
    }

    /// Tells the server of a session that has opened what is listened to.
    func beginSession() {
        topics = []
        topicsMayHaveChanged()
    }

    private func topicsMayHaveChanged() {
        let wanted = Set(listeners.values.map(\.topic))
        guard session.isActive, wanted != topics else { return }
        topics = wanted
        requests.listen(to: wanted.sorted()) { [session, log] result in
            guard case .failure(let error) = result, error.code != .unreachable else { return }
            session.note(message: error.message)
            log?(.warning, "messages are not received", [("reason", error.message)])
        }
    }

    /// Passes a message on.
    func receive(_ message: ServerMessage.Message) {
        let event = SessionMessage(
            topic: message.topic, payload: message.payload, userID: message.userID, sentAt: message.sentAt.date)
        for (topic, listener) in listeners.values where topic == message.topic { listener.note(event) }
    }

    /// Tells everybody that no more will come, because the store is closed.
    func endAll() {
        for (_, listener) in listeners.values { listener.finish() }
        listeners = [:]
    }
}
