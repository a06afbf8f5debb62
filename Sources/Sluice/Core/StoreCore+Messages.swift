internal import FoundationEssentials
internal import SluiceWire

extension StoreCore {
    /// How many messages are kept for a listener that takes none. Later ones replace the last.
    private static let messageCountMax = 256

    /// Sends an ephemeral message.
    ///
    /// - Returns: how many sessions the server has passed it to.
    func send(_ payload: [UInt8], to topic: String, timeout: Duration?) async throws -> Int {
        if let problem = MessageLimits.problem(withTopic: topic, payload: payload) {
            throw SyncError(.limitExceeded, problem)
        }
        let answer = try await answer(timeout: timeout) { $0.sendMessage(payload, to: topic, reply: $1) }
        struct Receipt: Decodable {
            let sessions: Int
        }
        return (try? JSONDecoder().decode(Receipt.self, from: Data(answer.utf8)))?.sessions ?? 0
    }

    /// The messages that other stores send to a topic.
    func messages(to topic: String) -> EventSource<SessionMessage> {
        EventSource { [weak self] in
            let listener = EventListener<SessionMessage>(pendingCountMax: StoreCore.messageCountMax) { $1 }
            let number = RegistrationNumber()
            do {
                guard let self else { throw StoreError(.closed, "the store was closed") }
                try performSoon { engine in
                    number.set(engine.listen(to: topic, listener))
                } orElse: { _ in
                    listener.finish()
                }
            } catch {
                listener.finish()
            }
            return EventMembership(listener) { [weak self] in
                self?.performLater { $0.stopListening(number.value) }
            }
        }
    }
}
