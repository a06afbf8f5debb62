internal import SluiceModel
internal import SluiceWire

/// Requests to the server that it answers once, with text: for reports, and to remove from its schema.
final class ServerRequests {
    typealias Reply = (Result<[UInt8], SyncError>) -> Void

    private let session: SyncSession
    private var replies: [UInt64: Reply] = [:]
    private var lastNumber: UInt64 = 0

    init(_ session: SyncSession) { self.session = session }

    /// Asks the server for a report.
    func report(_ topic: ReportTopic, reply: @escaping Reply) {
        request(reply) { number in
            .reportRequest(
                .init(session: session.number, request: number, topic: topic.wire, argument: topic.argument))
        }
    }

    /// Asks the server to remove a class, or a property, from its schema.
    func removal(ofClass className: String, property: String?, reply: @escaping Reply) {
        request(reply) { number in
            .remove(.init(session: session.number, request: number, className: className, property: property))
        }
    }

    /// Asks the server to store other rules.
    ///
    /// - Parameter isTrial: whether it only says what they would change.
    func deployment(_ file: [UInt8], isTrial: Bool, reply: @escaping Reply) {
        request(reply) { number in
            .deploy(.init(session: session.number, request: number, isTrial: isTrial, file: file))
        }
    }

    /// Tells the server to which topics this store listens.
    func listen(to topics: [String], reply: @escaping Reply) {
        request(reply) { number in
            .listen(.init(session: session.number, request: number, topics: topics))
        }
    }

    /// Sends an ephemeral message.
    func message(_ payload: [UInt8], to topic: String, reply: @escaping Reply) {
        request(reply) { number in
            .message(.init(session: session.number, request: number, topic: topic, payload: payload))
        }
    }

    /// Asks what a job wants to know.
    func job(_ question: ClientMessage.JobCall.Question, reply: @escaping Reply) {
        guard !session.isActive || session.features.contains(.jobs) else {
            return reply(
                .failure(
                    SyncError(
                        .unknownReport,
                        "the server is of a version that runs no consumers and queues of stores: update it"
                    )))
        }
        request(reply) { number in
            .job(.init(session: session.number, request: number, question: question))
        }
    }

    private func request(_ reply: @escaping Reply, _ message: (UInt64) -> ClientMessage) {
        guard session.isActive else {
            return reply(.failure(noSession))
        }
        lastNumber += 1
        replies[lastNumber] = reply
        session.send([message(lastNumber)])
    }

    /// Why nothing can be asked, and what would help.
    private var noSession: SyncError {
        if let error = session.standstill { return error }
        if session.phase == .paused {
            return SyncError(.unreachable, "syncing is paused; store.session?.resume() goes on")
        }
        let problem = session.lastProblem.map { ": \($0)" } ?? ""
        return SyncError(.unreachable, "there is no open session; wait for store.connected()\(problem)")
    }

    /// Passes on the server's answer.
    func answer(_ request: UInt64, _ result: Result<[UInt8], SyncError>) {
        replies.removeValue(forKey: request)?(result)
    }

    /// Fails all requests, because no answer will come.
    func failAll(_ error: SyncError) {
        for reply in replies.values { reply(.failure(error)) }
        replies = [:]
    }
}
