internal import Dispatch
internal import SluiceAccess
internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// A connection with its sessions, whichever door it came through. Any thread may use it.
final class PeerConnection: Sendable {
    private struct State {
        var machine: ConnectionProtocol
        /// What is to be done, in order. One thread at a time does it, while others may add to it.
        var actions: [ConnectionProtocol.Action] = []
        var isCarryingOut = false
        /// What the log says about the open sessions.
        var sessions: [UInt64: OpenSession] = [:]
        /// How often the connection was paused for a quota.
        var pauseCount = 0
        /// What the connection counts as, until it has ended.
        var slot: QuotaLedger.Slot?
    }

    let connection: any MessageConnection
    let login: LoginPeer
    private let log: LogSink?
    private let audit: AuditTrail?
    private let carryOut: @Sendable (ConnectionProtocol.Action, PeerConnection) -> Void
    private let state: Mutex<State>
    private let sent = Mutex(SentVersions())
    /// What makes the JSON form of frames, for a connection that speaks it; nil for others.
    private let form: JSONFormState?

    private struct JSONForm {
        var session: JSONSession
        /// How many pages have left for the client without credit for more.
        var unpaidPageCount: UInt64 = 0
        /// Whether nothing is received until the answers to wrong messages have left.
        var isPausedForAnswers = false
    }

    private final class JSONFormState: Sendable {
        let value: Mutex<JSONForm>

        init(_ session: JSONSession) { value = Mutex(JSONForm(session: session)) }
    }

    /// While more bytes than this wait for a connection in the JSON form, no more pages come, and no more messages that
    /// are answered at once are read.
    private static let paidByteCountMax = 1 << 20
    /// Where pauses end.
    private static let pausing = DispatchQueue(label: "sluice.pauses", qos: .utility)

    /// - Parameters:
    ///   - session: makes the JSON form of frames; nil for a connection that is sent frames.
    ///   - slot: is given back when the connection has ended.
    ///   - carryOut: does what the machine wants done, one action after the other.
    init(
        _ connection: any MessageConnection, _ login: LoginPeer, _ machine: ConnectionProtocol,
        inJSON session: JSONSession? = nil, slot: QuotaLedger.Slot, log: LogSink?,
        audit: AuditTrail? = nil,
        carryOut: @escaping @Sendable (ConnectionProtocol.Action, PeerConnection) -> Void
    ) {
        self.connection = connection
        self.login = login
        self.log = log
        self.audit = audit
        self.carryOut = carryOut
        state = Mutex(State(machine: machine, slot: slot))
        form = session.map { JSONFormState($0) }
    }

    /// Whether the connection speaks the JSON form.
    var speaksJSON: Bool { form != nil }

    var id: UInt64 { connection.id.rawValue }
    /// What the log calls the connection: the address of the peer.
    var name: String { connection.peerDescription }

    /// What databases call a session of the connection.
    func id(of session: UInt64) -> SessionID { SessionID(connection: id, session: session) }

    /// Lets the machine handle something, and carries out what it wants done, in the order of the calls.
    func perform(_ body: (inout ConnectionProtocol) -> [ConnectionProtocol.Action]) {
        enqueue(body)
        carryOutActions()
    }

    /// Lets the machine handle something; what it wants done is done by ``carryOutActions()``.
    private func enqueue(_ body: (inout ConnectionProtocol) -> [ConnectionProtocol.Action]) {
        state.withLock { $0.actions += body(&$0.machine) }
    }

    private func carryOutActions() {
        var isOurs = state.withLock { state in
            guard !state.isCarryingOut, !state.actions.isEmpty else { return false }
            state.isCarryingOut = true
            return true
        }
        while isOurs {
            let actions = state.withLock { state in
                defer { state.actions = [] }
                if state.actions.isEmpty { state.isCarryingOut = false }
                return state.actions
            }
            for action in actions { carryOut(action, self) }
            isOurs = !actions.isEmpty
        }
    }

    /// Ends every session, and gives back what the connection counted as: databases may hold on to it for a while.
    func disconnected(because reason: String) {
        perform { $0.disconnected(because: reason) }
        state.withLock { $0.slot = nil }
    }

    // MARK: Sessions

    var users: [User] { state.withLock { $0.machine.users } }

    /// What the log says about the open sessions.
    var openSessions: [UInt64: OpenSession] { state.withLock { $0.sessions } }

    /// To whom a session of a user counts.
    func holder(_ user: User) -> Holder { Holder(user, at: login.address) }

    /// Counts a session until it has ended, in whatever way.
    func keep(_ opened: OpenSession, _ slot: QuotaLedger.Slot, for session: UInt64) {
        state.withLock { state in
            state.machine.keep(slot, for: session)
            state.sessions[session] = opened
        }
        opened.noteOpening(by: name, in: log)
        audit?.note(
            .sessionOpened(method: .init(opened.user.identity.method), isReadOnly: opened.isReadOnly),
            user: opened.user.id, database: opened.database, address: login.address)
    }

    /// Gives back what a session counted as, and logs its end, once.
    func end(_ session: UInt64, because reason: SessionEnding, now: Timestamp) {
        guard let ended = forget(session) else { return }
        ended.noteEnd(by: name, because: reason.text, now: now, in: log)
        guard let cause = reason.cause else { return }
        audit?.note(
            .sessionEnded(cause, by: reason.asker), user: ended.user.id, database: ended.database,
            address: login.address, reason: reason.text)
    }

    /// Gives back what a session counted as.
    ///
    /// - Returns: what the log says about it; nil if it was not open.
    @discardableResult
    func forget(_ session: UInt64) -> OpenSession? {
        state.withLock { state in
            state.machine.ended(session: session)
            return state.sessions.removeValue(forKey: session)
        }
    }

    // MARK: What databases send

    /// Sends a frame of a database.
    ///
    /// - Parameters:
    ///   - moment: of which turn it is.
    ///   - now: the time for what the client is given credit for.
    /// - Returns: how many bytes it takes.
    @discardableResult
    func send(_ frame: OutgoingFrame, of moment: DatabaseMoment, now: Timestamp) -> Int {
        let byteCount = transmit(frame, now: now)
        let waitingByteCount = connection.queuedBytes
        sent.withLock { sent in
            sent.note(
                byteCount: byteCount, of: moment.database, at: moment.version, waitingByteCount: waitingByteCount)
        }
        return byteCount
    }

    /// Sends a frame as the connection is sent such.
    ///
    /// - Returns: how many bytes it takes on the wire.
    @discardableResult
    func transmit(_ frame: OutgoingFrame, now: Timestamp) -> Int {
        guard let form else {
            connection.send(frame.buffer)
            return frame.buffer.frameByteCount
        }
        let byteCount = form.value.withLock { form in
            if let texts = frame.commonTexts(&form.session) {
                for text in texts { connection.send(text) }
                pay(&form, now: now)
                return texts.reduce(0) { $0 + $1.frameByteCount }
            }
            let translation = form.session.translate(frame.messages)
            let texts = frame.texts(of: translation, form.session)
            for text in texts { connection.send(text) }
            form.unpaidPageCount += UInt64(translation.pageCount)
            handle(translation.steps, &form, now: now)
            pay(&form, now: now)
            if let close = translation.close { connection.close(code: close.code, reason: close.reason) }
            return texts.reduce(0) { $0 + $1.frameByteCount }
        }
        carryOutActions()
        return byteCount
    }

    // MARK: The JSON form

    /// Handles a text message of a connection in the JSON form.
    func receive(text: [UInt8], now: Timestamp) {
        form?.value.withLock { form in handle(form.session.receive(text), &form, now: now) }
        carryOutActions()
    }

    private func handle(_ steps: [JSONSession.Step], _ form: inout JSONForm, now: Timestamp) {
        for step in steps {
            switch step {
            case .handle(let message, let byteCount):
                enqueue { $0.receive([message], byteCount: byteCount, now: now) }
            case .reply(let text):
                connection.send(SharedBuffer(text: text))
                guard !form.isPausedForAnswers, connection.queuedBytes > Self.paidByteCountMax else { continue }
                form.isPausedForAnswers = true
                connection.pauseReceiving(for: .answers)
            }
        }
    }

    /// What was sent has left: gives credit for pages, and goes on receiving, unless much waits again.
    func didDrain(now: Timestamp) {
        form?.value.withLock { form in
            pay(&form, now: now)
            guard form.isPausedForAnswers, connection.queuedBytes <= Self.paidByteCountMax else { return }
            form.isPausedForAnswers = false
            connection.resumeReceiving(after: .answers)
        }
        carryOutActions()
    }

    private func pay(_ form: inout JSONForm, now: Timestamp) {
        guard form.unpaidPageCount > 0, connection.queuedBytes <= Self.paidByteCountMax else { return }
        let credit = ClientMessage.credit(session: JSONSession.number, pages: form.unpaidPageCount)
        form.unpaidPageCount = 0
        enqueue { $0.receive([credit], byteCount: 0, now: now) }
    }

    /// The version of a database of which everything has left for the client; nil if nothing waits.
    func sentVersion(of database: String) -> UInt64? {
        sent.withLock { $0.version(of: database, waitingByteCount: connection.queuedBytes) }
    }

    // MARK: Quotas

    /// Reads no more of the connection for a while, since its user uploads too fast.
    ///
    /// - Parameter wait: how long, in microseconds.
    func pause(forQuota wait: Int64) {
        guard wait > 0 else { return }
        let pause = state.withLock { state in
            state.pauseCount += 1
            return state.pauseCount
        }
        connection.pauseReceiving(for: .quota)
        Self.pausing.asyncAfter(deadline: .now() + .microseconds(Int(wait))) { [weak self] in
            // A later charge may have begun a longer pause.
            if let self, state.withLock({ $0.pauseCount == pause }) { connection.resumeReceiving(after: .quota) }
        }
    }
}
