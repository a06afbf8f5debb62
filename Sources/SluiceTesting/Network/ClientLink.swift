internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// The way of one store to the test server, which a test can cut, slow down, hold and inspect. Its life: it makes a
/// ``LinkConnection`` for each attempt of the store, and applies what the test has set to the present one.
final class ClientLink: Sendable {
    /// What passes to the store.
    enum Gate {
        case open
        /// Everything, until the first message of a kind arrives.
        case openUntil(ServerMessageKind)
        case closed
    }

    /// A query that the server seems to reject.
    struct Refusal {
        let query: String
        let code: ErrorCode
        let message: String
    }

    private struct State {
        var isCut = false
        /// The servers that are not reached.
        var cutHosts: Set<String> = []
        /// The server to which all connections lead; nil if it is that of the store's URL.
        var destination: String?
        var current: LinkConnection?
        /// Connections that the store has lost and their servers have not.
        var halfOpen: [LinkConnection] = []
        /// The server of ``current``.
        var host = ""
        var conditions = NetworkConditions()
        var random = SeededGenerator(seed: 1)
        var gate = Gate.open
        var refusals: [Refusal] = []
        var tally = MessageTally()

        func isCut(from host: String) -> Bool { isCut || cutHosts.contains(host) }

        /// Removes and returns the present connection, which is to be lost.
        mutating func takeCurrent() -> LinkConnection? {
            defer { current = nil }
            return current
        }
    }

    let floor: NetworkFloor
    /// How many messages wait for the clock.
    private let waitingCount = Atomic<Int>(0)
    private let network: LoopbackNetwork
    private let state = Mutex(State())

    init(_ network: LoopbackNetwork, _ floor: NetworkFloor) {
        self.network = network
        self.floor = floor
    }

    func connect(
        to endpoint: Endpoint, _ delegate: any MessageConnectionDelegate
    ) throws -> any MessageConnection {
        let destination = state.withLock { $0.destination }
        let endpoint = try destination.map { try Endpoint("ws://\($0)\(endpoint.target)") } ?? endpoint
        guard !state.withLock({ $0.isCut(from: endpoint.host) }) else {
            throw TransportError(.unreachable, "the test has cut the network", outlook: .passing)
        }
        let connection = LinkConnection(self, delegate)
        connection.connect { [network] in network.connect(to: endpoint, delegate: connection) }
        let (isCut, lifetime) = state.withLock { state in
            let isCut = state.isCut(from: endpoint.host) || state.destination != destination
            if !isCut {
                state.current = connection
                state.host = endpoint.host
            }
            return (isCut, state.conditions.connectionLifetime.map { state.random.duration(in: $0) })
        }
        guard !isCut else {
            // Another thread has cut the link while the connection was being made.
            connection.lose()
            throw TransportError(.unreachable, "the test has cut the network", outlook: .passing)
        }
        if let lifetime { floor.run(after: lifetime) { [weak connection] in connection?.lose() } }
        return connection
    }

    // MARK: What a test sets

    /// Breaks the connection, loses everything in transit, and prevents other connections until ``restore()``.
    func cut() {
        let current = state.withLock { state in
            state.isCut = true
            return state.takeCurrent()
        }
        current?.lose()
    }

    func restore() { state.withLock { $0.isCut = false } }

    /// Breaks a connection to one server, and prevents others until ``restore(to:)``.
    func cut(from host: String) {
        let current = state.withLock { state in
            state.cutHosts.insert(host)
            return state.host == host ? state.takeCurrent() : nil
        }
        current?.lose()
    }

    func restore(to host: String) { state.withLock { _ = $0.cutHosts.remove(host) } }

    /// Breaks the connection, and leads further ones to a server; nil leads them by the store's URLs.
    ///
    /// - Parameter isNoticed: whether the server notices that the connection is broken.
    func route(to host: String?, isNoticed: Bool = true) {
        let current = state.withLock { state in
            state.destination = host
            guard let current = state.takeCurrent() else { return nil as LinkConnection? }
            if !isNoticed { state.halfOpen.append(current) }
            return current
        }
        current?.lose(isNoticed: isNoticed)
    }

    func set(_ conditions: NetworkConditions) {
        state.withLock { state in
            state.conditions = conditions
            state.random = SeededGenerator(seed: conditions.seed)
        }
    }

    func set(_ gate: Gate) {
        let current = state.withLock { state in
            state.gate = gate
            return state.current
        }
        if let current { floor.run { current.drain() } }
    }

    func add(_ refusal: Refusal) { state.withLock { $0.refusals.append(refusal) } }

    func removeRefusals() { state.withLock { $0.refusals = [] } }

    // MARK: What connections ask

    /// Runs a closure on the network's queue once the clock has moved.
    func run(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        waitingCount.add(1, ordering: .sequentiallyConsistent)
        floor.run(after: delay) { [self] in
            body()
            waitingCount.subtract(1, ordering: .sequentiallyConsistent)
        }
    }

    var gate: Gate { state.withLock { $0.gate } }

    var refusals: [Refusal] { state.withLock { $0.refusals } }

    /// Whether messages take time or wait for the test, so that an attempt to connect may last.
    var isDelayed: Bool {
        if waitingCount.load(ordering: .sequentiallyConsistent) > 0 { return true }
        return state.withLock { state in
            if case .open = state.gate { return state.conditions.latency > .zero || state.conditions.jitter > .zero }
            return true
        }
    }

    /// How long the next message takes.
    func delay() -> Duration {
        state.withLock { state in
            let conditions = state.conditions
            guard conditions.jitter > .zero else { return conditions.latency }
            return conditions.latency + state.random.duration(in: .zero...conditions.jitter)
        }
    }

    /// Closes the gate where the next message is of the kind that it was to close before.
    func passes(_ kind: ServerMessageKind) -> Bool {
        state.withLock { state in
            switch state.gate {
            case .open: return true
            case .closed: return false
            case .openUntil(let last):
                if kind == last { state.gate = .closed }
                return kind != last
            }
        }
    }

    // MARK: What was sent

    /// The messages that the server has sent so far, also those that are held or were lost with a connection.
    var tally: MessageTally { state.withLock { $0.tally } }

    /// Counts a frame from the server.
    func note(_ frame: [UInt8]) {
        let messages = (Frame.outline(of: frame) ?? []).map {
            (ServerMessageKind(ServerMessage.Code(rawValue: $0.type)), $0.byteCount)
        }
        state.withLock { $0.tally.note(frameOf: frame.count, messages) }
    }

    // MARK: What is held

    /// The kinds of the messages that wait for the test.
    var held: [ServerMessageKind] { state.withLock { $0.current }?.held ?? [] }

    /// Delivers the first message that waits for the test, on the network's queue.
    func step() {
        guard let current = state.withLock({ $0.current }) else { return }
        floor.run { current.deliverFirst() }
    }

    /// Makes the present connection bring a message, as if the server had sent it.
    func inject(_ message: ServerMessage) {
        guard let current = state.withLock({ $0.current }) else { return }
        floor.run { current.arrive(.messages([message])) }
    }
}

extension SeededGenerator {
    fileprivate mutating func duration(in range: ClosedRange<Duration>) -> Duration {
        let part = Double.random(in: 0...1, using: &self)
        return range.lowerBound + (range.upperBound - range.lowerBound) * part
    }
}
