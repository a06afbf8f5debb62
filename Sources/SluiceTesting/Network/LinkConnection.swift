internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// One connection of a ``ClientLink``: passes messages on in both directions, as late as the link's conditions want, and
/// to the store only what the test lets through.
///
/// Its life: connecting, open, over. What comes in is handled on the network's queue; what goes out is sent by the
/// calling thread, or on that queue if it takes time.
final class LinkConnection: MessageConnection, MessageConnectionDelegate {
    enum Incoming {
        case opened
        /// A frame as it came.
        case frame([UInt8])
        /// What is left of a frame that was held; at least one message.
        case messages([ServerMessage])
        case drained
        case closed(TransportError?)
    }

    enum Outgoing {
        case message(SharedBuffer)
        case close(CloseCode, String)
    }

    private struct State {
        var inner: (any MessageConnection)?
        var isOver = false
        var arrived: [Incoming] = []
        /// When the last message arrives or leaves that was sent so far, by the clock.
        var incomingDue = Duration.zero
        var outgoingDue = Duration.zero
        var outgoing: [Outgoing] = []
        /// The numbers of the subscriptions that the server never heard of.
        var refused: Set<UInt64> = []
    }

    private let link: ClientLink
    private let delegate: any MessageConnectionDelegate
    private let state = Mutex(State())
    /// Held while the store is told something, so that it is told nothing after ``lose()`` has returned.
    private let telling = Mutex(())

    init(_ link: ClientLink, _ delegate: any MessageConnectionDelegate) {
        self.link = link
        self.delegate = delegate
    }

    /// - Parameter make: makes the connection to the server; its events wait until this is done.
    func connect(_ make: () -> any MessageConnection) { state.withLock { $0.inner = make() } }

    // MARK: The end that a test brings about

    /// Breaks the connection; what is in transit is lost.
    ///
    /// - Parameter isNoticed: whether the server notices; if not, the connection is half-open from then on.
    func lose(isNoticed: Bool = true) {
        telling.withLock { _ in
            let inner: (any MessageConnection)? = state.withLock { state in
                guard !state.isOver else { return nil }
                state.isOver = true
                return state.inner
            }
            guard let inner else { return }
            delegate.connection(
                self, didCloseWith: TransportError(.connectionLost, "the test has cut the network", outlook: .passing))
            if isNoticed { inner.abort() }
        }
    }

    // MARK: To the store

    var held: [ServerMessageKind] {
        state.withLock { state in
            state.arrived.flatMap { $0.messages.map { ServerMessageKind($0) } }
        }
    }

    private func receive(_ item: Incoming) {
        let delay = link.delay()
        let clock = link.floor.clock
        let (wait, isOver) = state.withLock { state in
            state.incomingDue = max(state.incomingDue, clock.elapsed + delay)
            return (state.incomingDue - clock.elapsed, state.isOver)
        }
        guard !isOver else { return }
        if wait <= .zero { return arrive(item) }
        link.run(after: wait) { [self] in arrive(item) }
    }

    func arrive(_ item: Incoming) {
        state.withLock { $0.arrived.append(item) }
        drain()
    }

    /// Tells the store what has arrived, as far as the link lets it through.
    func drain() {
        while let item = takeFirst(evenIfHeld: false) { notify(item) }
    }

    /// Tells the store the first thing that has arrived, even if it is held.
    func deliverFirst() {
        if let item = takeFirst(evenIfHeld: true) { notify(item) }
        drain()
    }

    private func takeFirst(evenIfHeld: Bool) -> Incoming? {
        state.withLock { state in
            guard let first = state.arrived.first, !state.isOver else { return nil }
            if !evenIfHeld, case .open = link.gate { return state.arrived.removeFirst() }
            var messages = first.messages
            guard !messages.isEmpty else { return state.arrived.removeFirst() }
            guard evenIfHeld || link.passes(ServerMessageKind(messages[0])) else { return nil }
            let message = messages.removeFirst()
            if messages.isEmpty {
                _ = state.arrived.removeFirst()
            } else {
                state.arrived[0] = .messages(messages)
            }
            return .messages([message])
        }
    }

    private func notify(_ item: Incoming) {
        link.floor.noteActivity()
        telling.withLock { _ in
            guard !state.withLock(\.isOver) else { return }
            switch item {
            case .opened: delegate.connectionDidOpen(self)
            case .messages(let messages):
                var frame = FrameBuilder()
                for message in messages { frame.append(message) }
                frame.finish().withUnsafeBytes { delegate.connection(self, didReceive: $0) }
            case .frame(let bytes): bytes.withUnsafeBytes { delegate.connection(self, didReceive: $0) }
            case .drained: delegate.connectionDidDrain(self)
            case .closed(let error):
                state.withLock { $0.isOver = true }
                delegate.connection(self, didCloseWith: error)
            }
        }
    }

    func connectionDidOpen(_ connection: any MessageConnection) { receive(.opened) }

    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        let frame = Array(message)
        link.note(frame)
        receive(.frame(frame))
    }

    func connectionDidDrain(_ connection: any MessageConnection) { receive(.drained) }

    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
        receive(.closed(error))
    }

    // MARK: To the server

    var id: ConnectionID { inner?.id ?? ConnectionID(rawValue: 0) }
    var peerDescription: String { inner?.peerDescription ?? "the test server" }
    var queuedBytes: Int { inner?.queuedBytes ?? 0 }

    private var inner: (any MessageConnection)? { state.withLock { $0.isOver ? nil : $0.inner } }

    func admit() { inner?.admit() }

    func send(_ message: SharedBuffer) { post(.message(message)) }

    func close(code: CloseCode, reason: String) { post(.close(code, reason)) }

    func abort() {
        let inner = inner
        state.withLock { $0.isOver = true }
        inner?.abort()
    }

    func pauseReceiving(for reason: PauseReason) { inner?.pauseReceiving(for: reason) }

    func resumeReceiving(after reason: PauseReason) { inner?.resumeReceiving(after: reason) }

    private func post(_ item: Outgoing) {
        link.floor.noteActivity()
        let delay = link.delay()
        let clock = link.floor.clock
        let wait = state.withLock { state in
            state.outgoingDue = max(state.outgoingDue, clock.elapsed + delay)
            if state.outgoingDue > clock.elapsed || !state.outgoing.isEmpty { state.outgoing.append(item) }
            return state.outgoing.isEmpty ? nil : state.outgoingDue - clock.elapsed
        }
        guard let wait else { return carryOut(item) }
        link.run(after: wait) { [self] in
            if let first = state.withLock({ $0.outgoing.isEmpty ? nil : $0.outgoing.removeFirst() }) { carryOut(first) }
        }
    }

    private func carryOut(_ item: Outgoing) {
        guard let inner else { return }
        switch item {
        case .close(let code, let reason):
            // Its owner listens no more.
            state.withLock { state in
                state.isOver = true
                state.arrived = []
            }
            inner.close(code: code, reason: reason)
        case .message(let message):
            let refusals = link.refusals
            guard !refusals.isEmpty || !state.withLock(\.refused.isEmpty) else { return inner.send(message) }
            if let rest = refuse(message, refusals) { inner.send(rest) }
        }
    }

    /// Answers what the test wants refused.
    ///
    /// - Returns: what the server is to hear; nil if that is nothing.
    private func refuse(_ message: SharedBuffer, _ refusals: [ClientLink.Refusal]) -> SharedBuffer? {
        guard let messages = try? message.withUnsafeBytes({ try Frame.decode(Array($0), as: ClientMessage.self) })
        else {
            return message
        }
        var rest = FrameBuilder()
        var isEmpty = true
        for message in messages {
            switch message {
            case .subscribe(let request):
                if let refusal = refusals.first(where: { $0.query == request.query }) {
                    state.withLock { _ = $0.refused.insert(request.subscription) }
                    let error = ServerMessage.SubscriptionError(
                        session: request.session, subscription: request.subscription, code: refusal.code,
                        message: refusal.message)
                    link.floor.run { [self] in receive(.messages([.subscriptionError(error)])) }
                    continue
                }
            case .unsubscribe(_, let subscription):
                if state.withLock({ $0.refused.remove(subscription) }) != nil { continue }
            // These name no subscription.
            case .hello, .open, .authenticate, .upload, .credit, .members, .reportRequest, .declare, .remove, .cached,
                .deploy, .variables, .listen, .message, .job, .write, .close:
                break
            }
            rest.append(message)
            isEmpty = false
        }
        return isEmpty ? nil : SharedBuffer(rest.finish())
    }
}

extension LinkConnection.Incoming {
    /// The messages in it; none where it has none or cannot be read, which is for the store to judge.
    var messages: [ServerMessage] {
        switch self {
        case .opened, .drained, .closed: []
        case .frame(let bytes): (try? Frame.decode(bytes, as: ServerMessage.self)) ?? []
        case .messages(let messages): messages
        }
    }
}
