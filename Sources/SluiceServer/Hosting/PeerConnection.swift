internal import SluiceModel
internal import SluiceTransport
internal import Synchronization

/// The hub's state for one connection.
final class PeerConnection: MessageConnectionDelegate {
    private struct State {
        var machine: ConnectionProtocol
        /// What is to be done, in order. One thread at a time does it, while others may add to it.
        var actions: [ConnectionProtocol.Action] = []
        var isCarryingOut = false
        /// What the log says about the open sessions.
        var sessions: [UInt64: OpenSession] = [:]
        /// How often the connection was paused for a quota.
        var pauseCount = 0
    }

    let connection: any MessageConnection
    let login: LoginPeer
    private let hub: ConnectionHub
    /// What the connection counts as.
    private let place: QuotaLedger.Place
    private let state: Mutex<State>

    init(
        _ connection: any MessageConnection, hub: ConnectionHub, _ login: LoginPeer, _ machine: ConnectionProtocol,
        place: QuotaLedger.Place
    ) {
        self.place = place
        self.connection = connection
        self.hub = hub
        self.login = login
        state = Mutex(State(machine: machine))
    }

    var id: UInt64 { connection.id.rawValue }
    /// What the log calls the connection: the address of the peer.
    var name: String { connection.peerDescription }

    /// Lets the machine handle something, and carries out what it wants done, in the order of the calls.
    func perform(_ body: (inout ConnectionProtocol) -> [ConnectionProtocol.Action]) {
        var isOurs = state.withLock { state in
            state.actions += body(&state.machine)
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
            for action in actions { hub.carryOut(action, of: self) }
            isOurs = !actions.isEmpty
        }
    }

    var users: [User] { state.withLock { $0.machine.users } }

    /// Ends a session.
    ///
    /// - Returns: what the log says about it; nil if it was not open.
    @discardableResult
    func ended(session: UInt64) -> OpenSession? {
        state.withLock { state in
            state.machine.ended(session: session)
            return state.sessions.removeValue(forKey: session)
        }
    }

    // MARK: Quotas

    /// To whom a session of a user counts.
    func holder(_ user: User) -> Holder { Holder(user, at: login.address) }

    /// Counts a session until it has ended, in whatever way.
    func keep(_ opened: OpenSession, _ place: QuotaLedger.Place, for session: UInt64) {
        state.withLock { state in
            state.machine.keep(place, for: session)
            state.sessions[session] = opened
        }
    }

    func beginPause() -> Int {
        state.withLock { state in
            state.pauseCount += 1
            return state.pauseCount
        }
    }

    func isLast(pause: Int) -> Bool { state.withLock { $0.pauseCount == pause } }

    func connectionDidOpen(_ connection: any MessageConnection) { hub.opened(self) }

    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        hub.receive(message, from: self)
    }

    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
        hub.closed(self, error)
    }
}
