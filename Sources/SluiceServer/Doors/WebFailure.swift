internal import SluiceTransport
internal import SluiceWire

/// Why a request of HTTP about a database has no other answer: a status, and JSON that says the reason.
struct WebFailure: Sendable {
    let status: Int
    let code: String
    let message: String
    /// Where in the query, as an offset in bytes.
    var position: UInt64?
    /// Which line of the body, from 1.
    var line: Int?

    init(_ status: Int, _ code: ErrorCode, _ message: String, position: UInt64? = nil, line: Int? = nil) {
        self.status = status
        self.code = code.rawValue
        self.message = message
        self.position = position
        self.line = line
    }

    /// The end of the session, or of its one subscription.
    init(_ code: ErrorCode, _ message: String, _ action: ErrorAction, position: UInt64? = nil) {
        let status =
            switch code {
            case .authenticationFailed, .credentialsExpired: 401
            case .permissionDenied: 403
            case .unknownDatabase: action == .retry ? 503 : 404
            case .invalidQuery, .unknownName, .protocolViolation: 400
            case .limitExceeded: action == .retry ? 429 : 400
            case .invalidOperation, .writeRefused: 422
            case .jobConflict, .jobUnfinished, .schemaChanged, .historyChanged: 409
            default: action == .retry ? 503 : 500
            }
        self.init(status, code, message, position: position)
    }

    var response: HTTPResponse {
        let json = JSONText.object(
            [("code", .string(code)), ("message", .string(message))]
                + (position.map { [("position", .number($0))] } ?? [])
                + (line.map { [("line", .number(UInt64($0)))] } ?? []))
        var response = HTTPResponse(status: status, type: "application/json", json.text + "\n")
        if status == 401 { response.headers.append("WWW-Authenticate", "Bearer realm=\"sluice\"") }
        return response
    }
}
