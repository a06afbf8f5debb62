internal import SluiceModel
internal import SluiceWire

/// The login of one session on a connection: where it stands, and what waits for it. A login that is rejected ends the
/// session, in whichever phase.
///
///     phase      message     credentials      accepted           put off            user replaced
///     -------------------------------------------------------------------------------------------
///     opening    held        too early        open               –                  =
///     open       passed on   renewing         =                  =                  open
///     renewing   passed on   = (kept next)    open, next ones    open, next ones    renewing
///
/// `=` leaves the phase, and `–` ends the session. Of credentials that come while others are being checked the last are
/// checked next.
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

    /// What is to be done with further credentials.
    enum Renewal {
        /// They are to be checked now.
        case checked
        /// They are checked next.
        case waits
        /// The session is not open yet.
        case tooEarly
    }

    /// What has become of a session whose login was accepted.
    enum Acceptance {
        /// It is open now: what asked for it, and what has waited for that.
        case opened(ClientMessage.Open, byteCount: Int, held: [ClientMessage], heldByteCount: Int)
        /// It goes on, and these credentials are to be checked next.
        case renewed(next: [WireCredentials]?)
        /// Nothing was being checked.
        case unasked
    }

    let database: String
    /// Whether the client wants a session token.
    let wantsToken: Bool
    /// Whether the client knows other servers, and would go there.
    let hasOthers: Bool
    private(set) var phase: Phase
    /// What the session counts as, until it has ended.
    var slot: QuotaLedger.Slot?

    init(database: String, opening open: ClientMessage.Open, byteCount: Int) {
        self.database = database
        wantsToken = !open.options.contains(.withoutToken)
        hasOthers = open.options.contains(.hasOthers)
        phase = .opening(open, byteCount: byteCount, held: [], heldByteCount: 0)
    }

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

    /// Takes further credentials.
    mutating func renew(_ credentials: [WireCredentials]) -> Renewal {
        switch phase {
        case .opening: return .tooEarly
        case .open(let user):
            phase = .renewing(user, next: nil)
            return .checked
        case .renewing(let user, _):
            phase = .renewing(user, next: credentials)
            return .waits
        }
    }

    /// Notes that the credentials are a user's.
    mutating func accept(_ user: User) -> Acceptance {
        switch phase {
        case .opening(let open, let byteCount, let held, let heldByteCount):
            phase = .open(user)
            return .opened(open, byteCount: byteCount, held: held, heldByteCount: heldByteCount)
        case .renewing(_, let next):
            phase = .open(user)
            return .renewed(next: next)
        case .open: return .unasked
        }
    }

    /// Notes that further credentials cannot be checked at the moment: what the session has holds on.
    ///
    /// - Returns: the credentials to check next.
    mutating func putOff() -> [WireCredentials]? {
        guard case .renewing(let user, let next) = phase else { return nil }
        phase = .open(user)
        return next
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
