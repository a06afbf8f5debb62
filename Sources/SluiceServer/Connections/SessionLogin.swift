internal import SluiceModel
internal import SluiceWire

/// The login of one session on a connection: where it stands, and what waits for it.
struct SessionLogin: Sendable {
    /// The most messages, and the bytes of them, that wait for a login. Clients need not send any before `opened`.
    static let heldCountMax = 1_000
    static let heldByteCountMax = 1 << 20

    enum Phase: Sendable {
        /// The first login is being checked.
        case opening(ClientMessage.Open, byteCount: Int, held: [ClientMessage], heldByteCount: Int)
        case open(User)
        /// The session is open, and further credentials are being checked.
        ///
        /// What comes meanwhile is checked after them, and of several the last.
        case renewing(User, next: [WireCredentials]?)
    }

    let database: String
    /// Whether the client wants a session token.
    let wantsToken: Bool
    var phase: Phase
    /// What the session counts as, until it has ended.
    var place: QuotaLedger.Place?

    /// The user; nil while nobody is known to be it.
    var user: User? {
        switch phase {
        case .opening: nil
        case .open(let user), .renewing(let user, _): user
        }
    }

    /// Notes what is known about the user of an open session now.
    mutating func replace(_ user: User) {
        switch phase {
        case .opening: break
        case .open: phase = .open(user)
        case .renewing(_, let next): phase = .renewing(user, next: next)
        }
    }

    /// Whether the database knows the session.
    var isOpen: Bool { user != nil }

    /// Keeps a message until the login is decided.
    ///
    /// - Returns: false when too much waits.
    mutating func hold(_ message: ClientMessage, byteCount: Int) -> Bool {
        guard case .opening(let open, let openByteCount, var held, let heldByteCount) = phase,
            held.count < Self.heldCountMax, heldByteCount + byteCount <= Self.heldByteCountMax
        else { return false }
        held.append(message)
        phase = .opening(open, byteCount: openByteCount, held: held, heldByteCount: heldByteCount + byteCount)
        return true
    }
}
