internal import SluiceModel
internal import SluiceWire

/// What a store presents to its server, and how long its login holds.
struct ClientLogin {
    /// What the store's owner has given, or a provider has made.
    var credentials: [WireCredentials]
    /// What the server gave instead at the last login.
    private(set) var sessionCredential: WireCredentials?
    /// Whether new credentials can be had when those expire.
    var isRenewable: Bool
    /// How far the server's clock is ahead of this machine's, in microseconds.
    ///
    /// nil before the server has named its time.
    private(set) var serverClockOffset: Int64?
    /// Whom the server has let in; nil while no session is open.
    private(set) var accepted: SessionStatus.Login?
    /// When the proof ends that the server checked last, by its clock; nil if it does not end.
    private var expiresAt: Timestamp?

    init(_ credentials: [WireCredentials], isRenewable: Bool) {
        self.credentials = credentials
        self.isRenewable = isRenewable
    }

    /// Everything to present, the best first.
    var presented: [WireCredentials] { (sessionCredential.map { [$0] } ?? []) + credentials }

    /// The session token that the server gave; nil if it gave none.
    var sessionToken: String? {
        guard let sessionCredential, sessionCredential.kind == .session else { return nil }
        return String(decoding: sessionCredential.payload, as: UTF8.self)
    }

    /// Notes the server's time.
    mutating func greeted(serverTime: Timestamp, now: Timestamp) {
        serverClockOffset = serverTime.microseconds.subtractingReportingOverflow(now.microseconds).partialValue
    }

    /// Notes whom the server has let in.
    mutating func begin(userID: String?) {
        accepted = SessionStatus.Login(userID: userID, expiresAt: expiresAt?.date)
    }

    /// Notes that no session is open any more.
    mutating func end() {
        accepted = nil
        expiresAt = nil
    }

    /// Takes other credentials, which may be of another login.
    mutating func replace(_ credentials: [WireCredentials]) {
        self.credentials = credentials
        sessionCredential = nil
    }

    /// Takes in what the server says about the login.
    ///
    /// - Returns: when to ask for new credentials; nil if the login does not end.
    mutating func learn(_ login: ServerMessage.Login, now: Timestamp) -> Duration? {
        if let credential = login.credential { sessionCredential = credential }
        expiresAt = login.expiresAt
        if let accepted { begin(userID: accepted.userID) }
        guard let end = login.expiresAt else { return nil }
        let serverNow = now.microseconds.addingReportingOverflow(serverClockOffset ?? 0).partialValue
        let (rest, isOver) = end.microseconds.subtractingReportingOverflow(serverNow)
        guard !isOver, rest > 0 else { return .seconds(1) }
        // A fifth of the time, and at most a minute, is for getting the next token; longer waits are cut to what timers
        // can count.
        return .microseconds(min(max(rest - min(rest / 5, 60_000_000), 1_000_000), 86_400_000_000))
    }
}
