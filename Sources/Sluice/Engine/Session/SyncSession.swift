internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire

/// The session with the server: whether it is open, what both sides agreed on, and the way for messages to the server.
///
/// Its life is the table of ``SessionPhase``: it connects, greets, opens, is active, and ends by one of `stop`, `pause`,
/// `retry`, `follow` and `fail`, which forget everything that belonged to the connection. The engine tells the other
/// parts of the beginning and the end. Only the store's queue uses it.
final class SyncSession {
    /// What belongs to one connection, and is forgotten with it.
    private struct Agreement {
        /// The features that both sides have.
        var features: Features = []
        var limits: FrameLimits
        /// What the server reported, and goes on with.
        var reportedProblem: String?
        /// When something last came from the server in this session.
        var heardAt: Timestamp?
    }

    /// The number of the session on its connection.
    private(set) var number: UInt64 = 1

    /// What is presented to the server.
    var login: ClientLogin
    /// The values of `$client` in the server's rules.
    private(set) var variables: ValueMap
    private let options: ClientOptions
    private let log: LogSink?
    private let random: () -> UInt64
    private var round: ServerRound
    /// Where the server has handed this store over to; nil if it has not, or if that could not be reached.
    private var handOver: String?
    /// How often the store was handed over since a session last opened.
    private var handOverCount = 0
    /// How often in a row a server has asked for another to be tried, since the last session opened.
    private var moveCount = 0
    /// When the attempt to connect began.
    private(set) var attemptedAt: Timestamp?
    private var actions: [ClientAction] = []
    private(set) var phase = SessionPhase.stopped
    private var agreement: Agreement
    /// Whether a session was open at some time.
    private(set) var wasOpen = false
    /// Why the last session or attempt ended; nil once the server has sent content again.
    private(set) var lastProblem: String?
    /// When the server was last sent a hello, by this device's clock.
    private(set) var askedAt: Timestamp?
    /// What the server reported last, in whichever session, and which uploads it had acknowledged by then.
    private var reportBehindUploads: (problem: String, acknowledged: UInt64)?
    /// Called when a message cannot be sent, since the server would not accept it. Sending it again would not help.
    var onUnsendable: ((SyncError) -> Void)?
    /// Called within a turn when there are actions that need not wait for its end.
    var onFlush: (() -> Void)?

    init(_ options: ClientOptions, random: @escaping () -> UInt64, log: LogSink?) {
        self.options = options
        login = ClientLogin(options.credentials, isRenewable: options.hasCredentialProvider)
        variables = options.variables
        self.random = random
        self.log = log
        agreement = Agreement(limits: FrameLimits(options))
        round = ServerRound(options)
    }

    var isActive: Bool { phase == .active }

    /// The features that both sides have.
    var features: Features { agreement.features }

    var limits: FrameLimits { agreement.limits }

    /// Why syncing ended for good; nil if it did not.
    var failure: SyncError? { if case .failed(let error) = phase { error } else { nil } }

    /// Why nobody should wait for the server: syncing failed, or is not wanted; nil if there is hope, as in a pause.
    var standstill: SyncError? {
        switch phase {
        case .failed(let error): error
        case .stopped: SyncError(.stopped, "syncing is stopped; start it with store.session")
        case .paused, .waiting, .connecting, .greeting, .opening, .active: nil
        }
    }

    // MARK: Transitions

    /// Moves on after an event that only our own code causes.
    private func advance(_ event: SessionPhase.Event) {
        do { try move(event) } catch { preconditionFailure(error.message) }
    }

    /// Moves on after a message from the server.
    private func receive(_ event: SessionPhase.Event) throws {
        do { try move(event) } catch { throw SyncError(.protocolViolation, error.message) }
    }

    private func move(_ event: SessionPhase.Event) throws(SessionPhase.IllegalTransition) {
        phase = try phase.after(event)
        guard !phase.isListening else { return }
        agreement = Agreement(limits: FrameLimits(options))
        login.end()
    }

    // MARK: Beginning

    func connect(now: Timestamp) {
        advance(.attempt)
        attemptedAt = now
        var generator = RandomSource(random)
        actions.append(.connect(handOver.map { .handedOver($0) } ?? .configured(round.next(using: &generator))))
    }

    /// Whether the next attempt goes to another server than the last one, without a wait.
    var triesOtherServer: Bool { round.hasNext }

    /// Whether as many attempts have failed in a row as the configuration allows.
    var isOutOfAttempts: Bool { options.attemptCountMax.map { round.failureCount + 1 >= $0 } ?? false }

    /// Asks the server to open the session.
    ///
    /// - Parameters:
    ///   - now: this device's clock.
    ///   - place: what the session has of a connection on which somebody else says hello; nil to say it.
    func greet(at now: Timestamp, _ place: ConnectionPlace?, opening message: (_ number: UInt64) -> ClientMessage.Open)
    {
        advance(.connected)
        number = place?.session ?? 1
        askedAt = place.map { $0.asked(before: now) } ?? now
        logVariables()
        let hello = ClientMessage.hello(.init(features: .all, agent: options.agent))
        send((place == nil ? [hello] : []) + [.open(message(number))])
    }

    /// Records the server's protocol version, features and limits.
    ///
    /// - Returns: why the server cannot be spoken with; nil if it can.
    /// - Throws: ``SyncError/Code/protocolViolation`` when the server has said hello before.
    func greeted(_ reply: ServerMessage.HelloReply) throws -> SyncError? {
        try receive(.hello)
        let versions = ProtocolVersion.minimum...ProtocolVersion.maximum
        guard versions.contains(reply.version) else {
            let known =
                versions.count == 1 ? "\(versions.lowerBound)" : "\(versions.lowerBound) to \(versions.upperBound)"
            return SyncError(
                .protocolViolation,
                "the server speaks version \(reply.version) of the protocol, and this library \(known); update the older "
                    + "of the two")
        }
        agreement.features = reply.features.intersection(.all)
        agreement.limits.server = reply.limits
        let idle = Duration.milliseconds(Int64(clamping: reply.limits.idleTimeoutMilliseconds))
        if options.heartbeat * 2 > idle {
            log?(
                .warning,
                "the server drops connections that are idle for \(idle); set heartbeat to at most half of that",
                [("heartbeat", "\(options.heartbeat)")])
        }
        return nil
    }

    /// Checks that the server may answer now whether it opens the session.
    ///
    /// - Throws: ``SyncError/Code/protocolViolation`` when it was not asked, or has not said hello.
    func checkIsOpening() throws {
        do { _ = try phase.after(.opened) } catch { throw SyncError(.protocolViolation, error.message) }
    }

    /// Notes that the server has opened the session, for the user with this id.
    ///
    /// - Throws: ``SyncError/Code/protocolViolation`` when it was not asked, or has not said hello.
    func activate(as userID: String?) throws {
        try receive(.opened)
        wasOpen = true
        login.begin(userID: userID)
        lastProblem = nil
        (handOverCount, moveCount) = (0, 0)
        round.reset()
    }

    // MARK: Variables

    /// Chooses other values of `$client`, in the session that is open and from then on. While a session is being opened,
    /// they need another.
    ///
    /// - Returns: whether the session has to be opened again.
    func choose(_ variables: ValueMap) -> Bool {
        guard variables != self.variables else { return false }
        self.variables = variables
        guard phase.isListening else { return false }
        logVariables()
        guard isActive else { return true }
        send([.variables(session: number, values: variables)])
        return false
    }

    /// Logs which variables the server is told, and how many elements lists have. The values are the user's.
    private func logVariables() {
        guard !variables.entries.isEmpty else { return }
        log?(
            .debug, "variables are chosen",
            variables.entries.map { entry in
                if case .list(let elements) = entry.value {
                    (entry.key, "\(elements.count) elements")
                } else {
                    (entry.key, "1")
                }
            })
    }

    // MARK: Login

    /// Presents other credentials in the session that is open, and from then on.
    func renew(_ credentials: [WireCredentials]) {
        login.replace(credentials)
        if isActive { send([.authenticate(session: number, credentials: credentials)]) }
    }

    /// Takes in what the server says about the login, and asks for new credentials before it ends.
    func learn(_ message: ServerMessage.Login, now: Timestamp) {
        guard phase.isListening, let delay = login.learn(message, now: now) else { return }
        actions.append(.renew(after: delay))
    }

    // MARK: Problems

    /// Notes that something came from the server.
    func noteFrame(now: Timestamp) { agreement.heardAt = now }

    /// How long nothing has come from the server in this session, in words.
    func silence(until now: Timestamp) -> String {
        let seconds = max(0, now.microseconds - (agreement.heardAt ?? askedAt ?? now).microseconds) / 1_000_000
        return "the store is connected, and the server last sent something \(seconds) s ago"
    }

    /// Notes what the server reports and goes on with.
    ///
    /// - Parameter acknowledged: the highest sequence that the server has acknowledged.
    func note(report: String, acknowledged: UInt64) {
        lastProblem = report
        agreement.reportedProblem = report
        reportBehindUploads = (report, acknowledged)
    }

    /// Notes what the server has answered to a wish, which it does not grant.
    func note(message: String) { lastProblem = message }

    /// Why uploads are not acknowledged, as far as it is known: a server that takes none ends sessions from time to time
    /// to try again, and what it reported holds until it acknowledges something.
    ///
    /// - Parameter acknowledged: the highest sequence that the server has acknowledged.
    func problem(acknowledged: UInt64) -> String? {
        if let lastProblem { return lastProblem }
        guard let known = reportBehindUploads, known.acknowledged == acknowledged else { return nil }
        return known.problem
    }

    /// Notes that the server has sent content.
    func noteContent() { lastProblem = agreement.reportedProblem }

    // MARK: Ending

    /// Forgets the connection. The engine connects again only when it is told to.
    func stop() {
        advance(.stop)
        round.reset()
        disconnect()
    }

    /// Forgets the connection for now.
    func pause() {
        advance(.pause)
        round.reset()
        disconnect()
    }

    /// Lets the waits between attempts begin with the shortest again.
    func resetBackoff() { round.resetBackoff() }

    /// Forgets the connection, and asks for another after a delay.
    func retry(atLeast minimum: Duration, because reason: String) {
        var generator = RandomSource(random)
        let delay = round.delay(using: &generator)
        // A server that a session was open with may come back; one that could not be reached is not asked again.
        if !isActive { handOver = nil }
        advance(.comeAgain)
        lastProblem = reason
        actions.append(.reconnect(after: max(delay, minimum)))
    }

    /// Whether the store goes to another of its servers if one would rather have it: as often as it has servers, and then
    /// stays with the next one.
    var mayMoveOn: Bool { options.serverCount > 1 && moveCount < options.serverCount }

    /// Forgets the connection, and goes to another of the store's servers at once, since this one wants it.
    func moveOn() {
        var generator = RandomSource(random)
        round.moveOn(using: &generator)
        moveCount += 1
        handOver = nil
        advance(.comeAgain)
        lastProblem = "the server asks for another to be tried"
        actions.append(.reconnect(after: .zero))
    }

    /// How often a store lets itself be handed over before a session opens.
    private static let handOverCountMax = 5

    /// Forgets the connection, and goes to another server at once, since this one wants it.
    ///
    /// - Returns: false, and nothing happens, if servers hand the store round in a circle.
    func follow(to url: String) -> Bool {
        guard handOverCount < Self.handOverCountMax else { return false }
        handOverCount += 1
        handOver = url
        advance(.comeAgain)
        lastProblem = "the server hands over to another"
        actions.append(.reconnect(after: .zero))
        return true
    }

    /// Forgets the connection, and does not come again.
    func fail(_ error: SyncError) {
        advance(.failure(error))
        round.reset()
        handOver = nil
        disconnect()
    }

    /// Has the connection find out soon whether the server is still there.
    func probe() { actions.append(.probe) }

    func disconnect() { actions.append(.disconnect) }

    // MARK: Sending

    /// Asks the shell to store what was postponed, after a delay.
    func storePostponed(after delay: Duration) { actions.append(.storePostponed(after: delay)) }

    /// The actions since the last call, for the shell to carry out.
    func takeActions() -> [ClientAction] {
        defer { actions = [] }
        return actions
    }

    /// Has the shell carry out what there is to do so far, where it can: what a long turn has sent travels meanwhile.
    func flush() { onFlush?() }

    /// Says that a message cannot be sent.
    func refuse(_ error: SyncError) { onUnsendable?(error) }

    /// Sends messages in one frame, which leaves at the end of the turn or at ``flush()``.
    func send(_ messages: [ClientMessage]) {
        switch agreement.limits.frame(of: messages) {
        case .success(let bytes): actions.append(.send(bytes))
        case .failure(let error): refuse(error)
        }
    }

    /// Sends a frame that ``FrameLimits/frame(of:)`` made, at the end of the turn or at ``flush()``.
    func send(frame: [UInt8]) { actions.append(.send(frame)) }

    /// Sends messages in one frame, so that the server answers all of them at one version; in more only where they do
    /// not fit one.
    func sendTogether(_ messages: ArraySlice<ClientMessage>) {
        let frame = agreement.limits.frame(of: Array(messages))
        if case .success(let bytes) = frame, messages.count <= options.dataLimits.messageCount {
            actions.append(.send(bytes))
        } else if messages.count > 1 {
            let middle = messages.startIndex + messages.count / 2
            sendTogether(messages[..<middle])
            sendTogether(messages[middle...])
        } else if case .failure(let error) = frame {
            refuse(error)
        }
    }
}

/// A generator that uses the injected source of random numbers.
private struct RandomSource: RandomNumberGenerator {
    private let random: () -> UInt64

    init(_ random: @escaping () -> UInt64) { self.random = random }

    func next() -> UInt64 { random() }
}
