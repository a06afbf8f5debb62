internal import FoundationEssentials
internal import SluiceWire

extension StoreCore {
    /// Sends an ephemeral message.
    ///
    /// - Returns: how many sessions the server has passed it to.
    func send(_ payload: [UInt8], to topic: String, timeout: Duration?) async throws -> Int {
        if let problem = MessageLimits.problem(withTopic: topic, payload: payload) {
            throw SyncError(.limitExceeded, problem)
        }
        let answer = try await answer(timeout: timeout) { $0.serverRequests.message(payload, to: topic, reply: $1) }
        struct Receipt: Decodable {
            let sessions: Int
        }
        return (try? JSONDecoder().decode(Receipt.self, from: Data(answer.utf8)))?.sessions ?? 0
    }
}
