internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// One transaction by HTTP: a session of its own uploads it, and answers once it is on disk or rejected.
final class WebWrite: Sendable {
    private let exchange: HTTPExchange
    private let headers: HTTPHeaders
    private let write: ClientMessage
    private let state = Mutex((rejection: ServerMessage.Rejection?.none, isDone: false))

    /// - Parameters:
    ///   - headers: what every answer has.
    ///   - write: the transaction, with the sequence 1.
    init(_ exchange: HTTPExchange, headers: HTTPHeaders, write: ClientMessage) {
        self.exchange = exchange
        self.headers = headers
        self.write = write
    }

    /// Takes messages of the server.
    ///
    /// - Returns: what to send, and whether the session is over.
    func receive(_ messages: [ServerMessage]) -> (send: [ClientMessage], isDone: Bool) {
        state.withLock { state in
            var send: [ClientMessage] = []
            for message in messages where !state.isDone {
                switch message {
                case .opened: send.append(write)
                case .rejected(let rejected): state.rejection = rejected.rejection
                case .commit(let commit) where commit.header.acknowledged ?? 0 > 0:
                    state.isDone = true
                    exchange.respond(response(commit.header.version, state.rejection).adding(headers))
                case .error(let failure):
                    state.isDone = true
                    // With action report the server takes no writes at the moment.
                    let action = failure.action == .report ? ErrorAction.retry : failure.action
                    exchange.respond(WebFailure(failure.code, failure.message, action).response.adding(headers))
                case .moved(let moved):
                    state.isDone = true
                    let failure = WebFailure(503, .shuttingDown, "the database is served at \(moved.url)")
                    exchange.respond(failure.response.adding(headers))
                // The session subscribes to nothing, and asks nothing but the write.
                case .hello, .schema, .page, .commit, .complete, .listMembers, .digest, .login, .context, .withdrawn,
                    .places, .subscriptionError, .message, .report, .reportError:
                    break
                }
            }
            if state.isDone { send.append(.close(session: JSONSession.number)) }
            return (send, state.isDone)
        }
    }

    /// The connection has ended before there was an answer.
    func end() {
        state.withLock { state in
            guard !state.isDone else { return }
            state.isDone = true
            let failure = WebFailure(
                503, .shuttingDown, "the session has ended, and nobody knows whether the transaction is written")
            exchange.respond(failure.response.adding(headers))
        }
    }

    private func response(_ version: UInt64, _ rejection: ServerMessage.Rejection?) -> HTTPResponse {
        guard let reason = rejection?.reasons.first else {
            return HTTPResponse(status: 200, type: "application/json", "{\"v\":\(version)}\n")
        }
        return WebFailure(reason.code, reason.message, .report).response
    }
}
