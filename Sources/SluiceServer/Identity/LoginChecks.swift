internal import Dispatch
internal import SluiceAccess
internal import SluiceModel
internal import SluiceWire
internal import Synchronization

/// Has logins checked, and looks after those that succeeded: a proof ends, and what is known about a user changes.
///
/// Any thread may use it. It knows no connections: the answer to a check goes to whoever asked, and what holds from now
/// on to everybody whom ``Subjects`` reaches.
final class LoginChecks: Sendable {
    /// The sessions of all connections.
    struct Subjects: Sendable {
        /// Their users.
        let users: @Sendable () -> [User]
        /// Brings them to what has become of their users.
        let adopt: @Sendable ([User: LoginStanding]) -> Void
        /// Ends those whose proofs are over at a time.
        let expire: @Sendable (Timestamp) -> Void
    }

    private let login: any Login
    private let sessions: Subjects
    private let now: @Sendable () -> Timestamp
    private let log: LogSink?
    private let metrics: (any ServerMetrics)?
    private let audit: AuditTrail?
    /// How often something changed about users. A login that was checked before a change is looked at again.
    private let changeCount = Atomic<UInt64>(0)
    /// Whether a check of all sessions waits for its turn.
    private let isCheckDue = Atomic(false)
    private let checking = DispatchQueue(label: "sluice.logins", qos: .utility)
    private let isStopped = Atomic<Bool>(false)

    /// How often sessions are looked for whose proof is over.
    private static let expiryTime = DispatchTimeInterval.milliseconds(250)
    /// When a check that failed is made again.
    private static let retryTime = DispatchTimeInterval.seconds(1)
    /// After how many rounds of ``expiryTime`` logins are looked at again: an hour.
    private static let roundCount = 14_400

    init(
        _ login: any Login, of sessions: Subjects, now: @escaping @Sendable () -> Timestamp, log: LogSink?,
        metrics: (any ServerMetrics)?, audit: AuditTrail? = nil
    ) {
        self.login = login
        self.sessions = sessions
        self.now = now
        self.log = log
        self.metrics = metrics
        self.audit = audit
    }

    // MARK: Checking

    /// Has the credentials of a session checked.
    ///
    /// - Parameters:
    ///   - name: what the log calls the peer.
    ///   - take: takes the outcome, on any thread, perhaps at once. It asks whether the outcome is current while nothing
    ///     else can change the session, and returns that; if not, it is called again.
    func check(
        _ credentials: [WireCredentials], of peer: LoginPeer, at name: String,
        _ take: @escaping @Sendable (Result<LoginOutcome, LoginError>, _ isCurrent: () -> Bool) -> Bool
    ) {
        let count = changeCount.load(ordering: .sequentiallyConsistent)
        login.identify(credentials, of: peer) { [self] result in
            switch result {
            case .success(let outcome):
                metrics?.loginDecided(method: .init(outcome.user.identity.method), isAccepted: true)
            case .failure(let error):
                metrics?.loginDecided(method: .init(credentials), isAccepted: false)
                log?(.info, "a login was refused", [("peer", name), ("reason", error.message)])
                audit?.note(
                    .loginRefused(method: .init(credentials)), user: credentials.first?.claimedName,
                    address: peer.address, outcome: .refused, reason: error.message)
            }
            decide(result, checkedAt: count, take)
        }
    }

    /// Hands an outcome over, unless something changed about users since it was checked: then it is looked at again.
    private func decide(
        _ result: Result<LoginOutcome, LoginError>, checkedAt count: UInt64,
        _ take: @escaping @Sendable (Result<LoginOutcome, LoginError>, _ isCurrent: () -> Bool) -> Bool
    ) {
        guard case .success(let outcome) = result else {
            _ = take(result) { true }
            return
        }
        guard !take(result, { changeCount.load(ordering: .sequentiallyConsistent) == count }) else { return }
        checking.async { [self] in
            let count = changeCount.load(ordering: .sequentiallyConsistent)
            decide(lookAgain(at: outcome), checkedAt: count, take)
        }
    }

    private func lookAgain(at outcome: LoginOutcome) -> Result<LoginOutcome, LoginError> {
        guard let standing = try? login.standings(of: [outcome.user]).first else { return .failure(.unavailable) }
        let user = outcome.user.after(standing)
        return user.map { .success(LoginOutcome($0, credential: outcome.credential)) }
            ?? .failure(LoginError(message: LoginError.revoked))
    }

    // MARK: Looking after

    /// Brings all sessions to what is known about their users now, soon: ends the connections of those whose logins no
    /// longer hold, and gives the others the rights that they have now. Where that cannot be found out, sessions go on,
    /// and it is tried again until it can.
    func checkAll() {
        changeCount.wrappingAdd(1, ordering: .sequentiallyConsistent)
        // One check sees all changes before it.
        guard !isCheckDue.exchange(true, ordering: .sequentiallyConsistent) else { return }
        checking.async { [self] in checkNow() }
    }

    private func checkNow() {
        isCheckDue.store(false, ordering: .sequentiallyConsistent)
        let users = Array(Set(sessions.users()))
        do {
            let standings = try login.standings(of: users)
            sessions.adopt(Dictionary(uniqueKeysWithValues: zip(users, standings)))
        } catch {
            log?(.warning, "open sessions could not be checked, and will be", [("reason", "\(error)")])
            guard !isCheckDue.exchange(true, ordering: .sequentiallyConsistent) else { return }
            checking.asyncAfter(deadline: .now() + Self.retryTime) { [weak self] in
                guard let self, !isStopped.load(ordering: .relaxed) else { return }
                checkNow()
            }
        }
    }

    /// Begins to end sessions when their proofs are over, and to look now and then whether the others hold.
    func startWatching() { watch(round: 1) }

    private func watch(round: Int) {
        checking.asyncAfter(deadline: .now() + Self.expiryTime) { [weak self] in
            guard let self, !isStopped.load(ordering: .relaxed) else { return }
            expire()
            if round % Self.roundCount == 0 { checkAll() }
            watch(round: round + 1)
        }
    }

    func stopWatching() { isStopped.store(true, ordering: .relaxed) }

    /// Ends the sessions whose proofs are over.
    func expire() { sessions.expire(now()) }

    /// Waits until the logins are checked that were to be.
    func flush() async {
        await withCheckedContinuation { continuation in checking.async { continuation.resume() } }
    }
}

extension WireCredentials {
    /// The name that somebody gives with a password, which proves nothing yet; nil where there is none.
    fileprivate var claimedName: String? {
        guard kind == .password, case .password(let name, _) = Credential(self), !name.isEmpty else { return nil }
        return name
    }
}

extension ServerLoginMethod {
    init(_ method: LoginIdentity.Method) {
        switch method {
        case .anonymous: self = .anonymous
        case .sharedSecret: self = .sharedSecret
        case .password: self = .password
        case .session: self = .session
        case .token: self = .token
        case .custom: self = .custom
        }
    }

    /// What somebody has tried to log in with; the first counts where there are several.
    init(_ credentials: [WireCredentials]) {
        switch credentials.first?.kind {
        case .anonymous?, nil: self = .anonymous
        case .sharedSecret?: self = .sharedSecret
        case .password?: self = .password
        case .session?: self = .session
        case .token?: self = .token
        default: self = .custom
        }
    }
}
