import Dispatch
import Synchronization

/// Connects servers and stores of one process without sockets. Those that are given the same network reach each other
/// by the servers' host names; nobody else reaches them.
public final class LoopbackNetwork: Sendable {
    /// Runs a closure later, on one thread or queue of its own.
    package typealias Executor = @Sendable (@escaping @Sendable () -> Void) -> Void

    let state = Mutex(LoopbackState())
    let options: WebSocketOptions
    private let executor: Executor?

    /// Makes a network that delivers everything at once, on a queue of its own.
    public convenience init() {
        let queue = DispatchQueue(label: "sluice.loopback")
        self.init { body in queue.async(execute: body) }
    }

    /// Makes the twin of ``WebSocketServer`` and ``WebSocketClient`` for tests and simulations.
    ///
    /// - Parameter executor: where the network delivers by itself. Without one, what connections send waits until
    ///   ``pump()`` or ``deliverNext(choosing:)`` delivers it on the calling thread, in the order of sending or in one
    ///   that the caller chooses.
    package init(options: WebSocketOptions = .init(), executor: Executor?) {
        self.options = options
        self.executor = executor
    }

    /// Accepts connections to a host name.
    ///
    /// - Throws: `addressInUse` when somebody listens there already.
    package func listen(_ host: String, hooks: ServerHooks) throws(TransportError) {
        let isFree = state.withLock { state in
            guard state.listeners[host] == nil else { return false }
            state.listeners[host] = hooks
            return true
        }
        guard isFree else {
            throw TransportError(.addressInUse, "cannot listen at \(host): the address is in use by another program")
        }
    }

    /// Accepts no more connections to a host and closes the existing ones with code 1001.
    package func stopListening(_ host: String) {
        let connections = state.withLock { state in
            state.listeners[host] = nil
            return state.ends.values.filter { $0.host == host && $0.isServer }.map(\.connection)
        }
        for connection in connections.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            connection.close(code: .goingAway, reason: "the server is shutting down")
        }
    }

    /// Waits until what was sent before is delivered, except what is held back. Without an executor nothing waits.
    package func flush() async {
        guard let executor else { return }
        await withCheckedContinuation { continuation in executor { continuation.resume() } }
    }

    /// Begins to connect to the host of an endpoint, as ``WebSocketClient`` does.
    package func connect(
        to endpoint: Endpoint, headers: HTTPHeaders = [:], delegate: any MessageConnectionDelegate
    ) -> any MessageConnection {
        let clientID = ConnectionID(rawValue: WebSocketConnection.nextID())
        let serverID = ConnectionID(rawValue: WebSocketConnection.nextID())
        let client = LoopbackConnection(id: clientID, peer: endpoint.authority, network: self)
        let server = LoopbackConnection(id: serverID, peer: "loopback \(clientID.rawValue)", network: self)
        update { state in
            state.ends[clientID] = .init(
                connection: client, peer: serverID, host: endpoint.host, isServer: false, delegate: delegate)
            state.ends[serverID] = .init(
                connection: server, peer: clientID, host: endpoint.host, isServer: true, delegate: nil)
            if state.cutHosts.contains(endpoint.host) {
                state.end(
                    clientID, TransportError(.unreachable, "no route to \(endpoint.authority)", outlook: .passing))
                state.ends[serverID] = nil
            } else {
                let request = HTTPRequest(method: "GET", target: endpoint.target, headers: headers)
                state.post(.request(request), to: serverID)
            }
        }
        return client
    }

    /// Breaks all connections to a host, loses what is on its way, and lets nobody connect until ``restore(_:)``.
    package func cut(_ host: String) {
        update { state in
            state.cutHosts.insert(host)
            for (id, end) in state.ends.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where end.host == host {
                state.end(
                    id,
                    TransportError(
                        .connectionLost, "the connection to \(end.connection.peerDescription) was cut",
                        outlook: .passing))
            }
        }
    }

    /// Ends ``cut(_:)``: the host can be reached by new connections.
    package func restore(_ host: String) { update { _ = $0.cutHosts.remove(host) } }

    /// Holds back everything between a host and its clients until ``unstall(_:)``; nothing is lost.
    package func stall(_ host: String) { update { _ = $0.stalledHosts.insert(host) } }

    /// Ends ``stall(_:)``: what was held back can be delivered.
    package func unstall(_ host: String) { update { _ = $0.stalledHosts.remove(host) } }

    /// Delivers until nothing is left that may be delivered. A call inside a delivery does nothing.
    ///
    /// - Returns: how many items were delivered.
    @discardableResult
    package func pump() -> Int {
        var count = 0
        while deliverNext() { count += 1 }
        return count
    }

    /// Delivers one item.
    ///
    /// - Parameter choose: chooses one of the connections that have something to deliver, in the order of their ids: it
    ///   is given their number and returns an index. Nil delivers what was sent first.
    /// - Returns: false when nothing may be delivered, or when called inside a delivery.
    @discardableResult
    package func deliverNext(choosing choose: ((Int) -> Int)? = nil) -> Bool {
        let candidates: [ConnectionID]? = state.withLock { state in
            guard !state.isDelivering else { return nil }
            let candidates = state.candidates()
            state.isDelivering = !candidates.isEmpty
            return candidates
        }
        guard let candidates, !candidates.isEmpty else { return false }
        defer { state.withLock { $0.isDelivering = false } }
        let chosen = choose.map { candidates.sorted { $0.rawValue < $1.rawValue }[$0(candidates.count)] }
        deliver(to: chosen ?? candidates[0])
        return true
    }

    /// Changes the state, and has the executor pump if something can be delivered.
    func update(_ body: (inout sending LoopbackState) -> Void) {
        let mustPump = state.withLock { state in
            body(&state)
            guard executor != nil, !state.isPumpScheduled, !state.candidates().isEmpty else { return false }
            state.isPumpScheduled = true
            return true
        }
        guard mustPump, let executor else { return }
        executor { [self] in
            state.withLock { $0.isPumpScheduled = false }
            pump()
        }
    }
}

/// Each network is equal to itself alone.
extension LoopbackNetwork: Hashable {
    public static func == (left: LoopbackNetwork, right: LoopbackNetwork) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
