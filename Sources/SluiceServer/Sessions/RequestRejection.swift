internal import SluiceQuery
internal import SluiceWire

/// Why a request of a session is refused: a subscription, a report, or a question of a job. The session goes on.
struct RequestRejection: Error {
    let code: ErrorCode
    let message: String
    /// The byte of the query's text that is meant.
    let position: Int?

    init(code: ErrorCode, message: String, position: Int? = nil) {
        self.code = code
        self.message = message
        self.position = position
    }

    /// The query does not parse, or names what is not in the schema.
    init(_ error: QueryError) {
        let isUnknown = error.code == .unknownClass || error.code == .unknownProperty
        self.init(
            code: isUnknown ? .unknownName : .invalidQuery, message: error.message, position: error.position)
    }

    /// The query names what its reader may not read.
    init(_ hidden: HiddenPropertyError) { self.init(code: .permissionDenied, message: hidden.message) }

    /// The message that refuses a subscription.
    func answer(to request: ClientMessage.Subscribe) -> ServerMessage {
        .subscriptionError(
            .init(
                session: request.session, subscription: request.subscription, code: code, message: message,
                position: position.map(UInt64.init)))
    }

    /// The message that refuses a question of a job.
    func answer(to call: ClientMessage.JobCall) -> ServerMessage { reportError(call.session, call.request) }

    /// The message that refuses a report.
    func answer(to request: ClientMessage.ReportRequest) -> ServerMessage {
        reportError(request.session, request.request)
    }

    private func reportError(_ session: UInt64, _ request: UInt64) -> ServerMessage {
        .reportError(
            .init(
                session: session, request: request, code: code, message: message,
                position: position.map(UInt64.init)))
    }
}
