internal import SluiceServer

/// A user whom a ``TestServer`` believes.
struct TestUser {
    /// The user's id; nil for a user without one.
    let id: String?
    /// A JSON object.
    let claims: String

    init(id: String?, claims: String) {
        self.id = id
        self.claims = claims
    }

    /// - Returns: nil for what no store of a ``TestServer`` presents.
    init?(_ request: LoginRequest) {
        guard case .token(let token) = request, let kind = token.utf8.first else { return nil }
        let text = token.dropFirst()
        switch kind {
        case UInt8(ascii: "0"): self.init(id: nil, claims: String(text))
        case UInt8(ascii: "1"):
            guard let end = text.firstIndex(of: "\n") else { return nil }
            self.init(id: String(text[..<end]), claims: String(text[text.index(after: end)...]))
        default: return nil
        }
    }

    /// The user as a client's token.
    var token: String { id.map { "1\($0)\n\(claims)" } ?? "0\(claims)" }
}
