internal import SluiceModel
package import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// One connection to a server, on which the stores of one user have a session each.
///
/// It says hello, gives each store a number, and passes on what comes for it. Its life is the table of
/// ``ConnectionPhase``. Who leaves ends a session; the last who leaves ends the connection. Any thread may use it.
///
/// Frames of several stores take turns, and at most a few wait for the socket, so that a store with much to upload does
/// not keep the others waiting. A store that cannot handle what comes for it delays the others of its connection.
package final class SharedConnection: MessageConnectionDelegate {
    private struct Member {
        let notify: @Sendable (ClientEvent) -> Void
        /// The number of the session; nil before it is opened.
        var number: UInt64?
        /// Whether anything was sent for the session.
        var hasSent = false
        /// What waits to be sent.
        var queue: [[UInt8]] = []
        /// The frames that the store has not handled yet.
        var pendingCount = 0
    }

    private struct State {
        var phase = ConnectionPhase.connecting
        /// What `connect` has returned, until its end is told.
        var connection: (any MessageConnection)?
        var members: [UInt64: Member] = [:]
        var lastMember: UInt64 = 0
        var lastNumber: UInt64 = 0
        /// The members with something to send, in the order of their turns.
        var turns: [UInt64] = []
        /// The members that have too many frames to handle.
        var behind: Set<UInt64> = []
    }

    /// The most frames that wait for a store before the connection is not read for a while.
    private static let pendingCountMax = 64
    /// The most stores of one connection, unless the server allows fewer sessions.
    private static let memberCountMax = 64
    /// With more bytes waiting for the socket, stores wait for their turns.
    private static let queuedByteCountMax = WebSocketOptions().lowWaterByteCount

    private let hello: [UInt8]
    private let state = Mutex(State())
    /// Called when nobody is to join any more.
    private let isOver: @Sendable (SharedConnection) -> Void
    /// How long something has run; unlike the clocks of stores, nobody sets it.
    private let uptime: @Sendable () -> Duration

    /// - Parameters:
    ///   - agent: what the client calls itself.
    ///   - uptime: a time that nobody sets, which goes on while the machine is suspended.
    ///   - isOver: called, perhaps more than once, when nobody is to join any more.
    package init(
        agent: String, uptime: @escaping @Sendable () -> Duration,
        isOver: @escaping @Sendable (SharedConnection) -> Void
    ) {
        self.uptime = uptime
        hello = Frame.encode(ClientMessage.hello(.init(features: .all, agent: agent)))
        self.isOver = isOver
    }

    /// Begins to connect.
    ///
    /// - Parameter connect: begins a connection with this as its delegate.
    /// - Throws: what `connect` throws; the connection is over then.
    package func begin(_ connect: (any MessageConnectionDelegate) throws -> any MessageConnection) throws {
        do {
            let connection = try connect(self)
            let isUnwanted = state.withLock { state in
                state.connection = connection
                return state.phase == .over
            }
            if isUnwanted { connection.close() }
            pump()
        } catch {
            end()
            // Others may have joined meanwhile.
            notifyAll(.closed(reason: (error as? TransportError)?.message ?? "\(error)"))
            throw error
        }
    }

    // MARK: Members

    /// Adds a store.
    ///
    /// - Parameter notify: called with what happens to the connection, and what comes for the store, in order.
    /// - Returns: the member; nil if the connection is over or full.
    package func join(_ notify: @escaping @Sendable (ClientEvent) -> Void) -> ConnectionMember? {
        let (member, isOpen) = state.withLock { state -> (UInt64?, Bool) in
            let limit = state.phase.sessionCountMax ?? Self.memberCountMax
            guard state.phase != .over, state.members.count < min(limit, Self.memberCountMax) else {
                return (nil, false)
            }
            state.lastMember += 1
            state.members[state.lastMember] = Member(notify: notify)
            return (state.lastMember, state.phase.isOpen)
        }
        guard let member else { return nil }
        if isOpen { notify(.opened()) }
        return ConnectionMember(self, member)
    }

    /// Gives a member the number of its session, right before it asks the server to open it.
    ///
    /// - Returns: nil if the member has one.
    func place(of member: UInt64) -> ConnectionPlace? {
        state.withLock { state in
            guard let known = state.members[member], known.number == nil else { return nil }
            state.lastNumber += 1
            state.members[member]?.number = state.lastNumber
            return state.phase.place(of: state.lastNumber, now: uptime())
        }
    }

    func send(_ frame: [UInt8], of member: UInt64) {
        state.withLock { state in
            guard state.members[member] != nil else { return }
            if state.members[member]?.queue.isEmpty ?? false { state.turns.append(member) }
            state.members[member]?.queue.append(frame)
        }
        pump()
    }

    /// Ends a member's session. Nothing more is told to it.
    func leave(_ member: UInt64) {
        var isStuck = false
        let (connection, isLast) = state.withLock { state -> ((any MessageConnection)?, Bool) in
            guard let left = state.members.removeValue(forKey: member), state.phase != .over else {
                return (nil, false)
            }
            isStuck = !state.phase.isOpen
            state.turns.removeAll { $0 == member }
            if state.behind.remove(member) != nil, state.behind.isEmpty { state.connection?.resumeReceiving() }
            guard !state.members.isEmpty else { return (state.connection, true) }
            if left.hasSent, let number = left.number {
                state.connection?.send(SharedBuffer(Frame.encode(ClientMessage.close(session: number))))
            }
            return (nil, false)
        }
        if isLast {
            end()
            connection?.close()
        } else {
            // Whoever gives up an attempt to connect makes another, and does not come back to this one.
            if isStuck { isOver(self) }
            pump()
        }
    }

    /// Notes that a store has handled a frame.
    func didHandleFrame(_ member: UInt64) {
        state.withLock { state in
            guard var count = state.members[member]?.pendingCount else { return }
            count -= 1
            state.members[member]?.pendingCount = count
            guard count <= Self.pendingCountMax / 4, state.behind.remove(member) != nil, state.behind.isEmpty else {
                return
            }
            state.connection?.resumeReceiving()
        }
    }

    func probe(timeout: Duration) { state.withLock { $0.connection }?.probe(timeout: timeout) }

    private func end() {
        if state.withLock({ $0.phase.end() }) { isOver(self) }
    }

    // MARK: Sending

    /// Gives members their turns, one frame each, as long as little waits for the socket.
    private func pump() {
        state.withLock { state in
            guard state.phase.isOpen, let connection = state.connection else { return }
            var passed = 0
            while connection.queuedBytes <= Self.queuedByteCountMax, passed < state.turns.count {
                let member = state.turns.removeFirst()
                guard let first = state.members[member] else { continue }
                if !first.hasSent, !Self.isNext(first, of: state.members) {
                    state.turns.append(member)
                    passed += 1
                    continue
                }
                passed = 0
                let frame = state.members[member]?.queue.removeFirst() ?? []
                state.members[member]?.hasSent = true
                if first.queue.count > 1 { state.turns.append(member) }
                connection.send(SharedBuffer(frame))
            }
        }
    }

    /// Whether no session with a lower number is still to be opened: the server wants them in their order.
    private static func isNext(_ member: Member, of members: [UInt64: Member]) -> Bool {
        guard let number = member.number else { return true }
        return !members.values.contains { other in
            !other.hasSent && (other.number.map { $0 < number } ?? false)
        }
    }

    // MARK: From the connection

    package func connectionDidOpen(_ connection: any MessageConnection) {
        let members = state.withLock { state -> [@Sendable (ClientEvent) -> Void] in
            guard state.phase.open(at: uptime()) else { return [] }
            // What `connect` has returned may do more than the connection within it that reports.
            let connection = state.connection ?? connection
            connection.send(SharedBuffer(hello))
            state.connection = connection
            return state.members.values.map(\.notify)
        }
        for notify in members { notify(.opened()) }
    }

    package func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        let frame = Array(message)
        let notifiers = state.withLock { state -> [@Sendable (ClientEvent) -> Void] in
            if state.phase.awaitsGreeting, let reply = Self.greeting(in: frame) {
                state.phase.greet(reply, at: uptime())
            }
            // What cannot be read is for everybody to complain of, as is what concerns the connection. Who has no place
            // yet gets the greeting with it.
            // A frame of errors may concern several sessions.
            let first = Frame.first(of: frame).flatMap { $0.type == ServerMessage.Code.error.rawValue ? nil : $0 }
            let session = first?.session ?? 0
            let receivers = state.members.filter { _, member in
                member.number.map { session == 0 || $0 == session } ?? false
            }.map(\.key)
            for member in receivers {
                let count = (state.members[member]?.pendingCount ?? 0) + 1
                state.members[member]?.pendingCount = count
                guard count >= Self.pendingCountMax, state.behind.insert(member).inserted else { continue }
                if state.behind.count == 1 { connection.pauseReceiving() }
            }
            return receivers.compactMap { state.members[$0]?.notify }
        }
        for notify in notifiers { notify(.received(frame)) }
    }

    private static func greeting(in frame: [UInt8]) -> ServerMessage.HelloReply? {
        let messages = (try? Frame.decode(frame, as: ServerMessage.self)) ?? []
        for case .hello(let reply) in messages { return reply }
        return nil
    }

    package func connectionDidDrain(_ connection: any MessageConnection) { pump() }

    package func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
        end()
        notifyAll(
            .closed(
                reason: error?.message ?? "the server closed the connection", outlook: error?.outlook ?? .passing,
                wait: error?.retryAfter ?? .zero))
    }

    /// Tells everybody of the end.
    private func notifyAll(_ event: ClientEvent) {
        let members = state.withLock { state in
            defer { state.members = [:] }
            state.connection = nil
            return state.members.values.map(\.notify)
        }
        for notify in members { notify(event) }
    }
}

/// A store's part of a connection, until ``leave()``.
package final class ConnectionMember: Sendable {
    private let connection: SharedConnection
    private let number: UInt64

    init(_ connection: SharedConnection, _ number: UInt64) {
        self.connection = connection
        self.number = number
    }

    /// Takes the place of a session on the connection, right before it is opened.
    package func takePlace() -> ConnectionPlace? { connection.place(of: number) }

    package func send(_ frame: [UInt8]) { connection.send(frame, of: number) }

    package func didHandleFrame() { connection.didHandleFrame(number) }

    func probe(timeout: Duration) { connection.probe(timeout: timeout) }

    package func leave() { connection.leave(number) }
}
