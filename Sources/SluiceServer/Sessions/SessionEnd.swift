internal import SluiceWire

/// Why a session ends on the server's initiative, and what its client should do.
struct SessionEnd: Error {
    let code: ErrorCode
    let message: String
    let action: ErrorAction

    init(_ code: ErrorCode, _ message: String, action: ErrorAction) {
        self.code = code
        self.message = message
        self.action = action
    }

    /// The end because of an error of the store. If the database is damaged, the client must not try again by itself.
    init(because error: any Error, _ message: String) {
        let (code, action) = Consequence.of(error)
        self.init(code, message, action: action)
    }

    func failure(of session: SessionID) -> ServerMessage {
        .error(.init(session: session.session, code: code, message: message, action: action))
    }
}
