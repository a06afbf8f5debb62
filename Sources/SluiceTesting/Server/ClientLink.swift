internal import SluiceTransport
internal import Synchronization

/// The connection of one store to the test server, which a test can cut.
final class ClientLink: Sendable {
    private struct State {
        var isCut = false
        var current: (connection: any MessageConnection, delegate: Relay)?
    }

    private let network: LoopbackNetwork
    private let state = Mutex(State())

    init(_ network: LoopbackNetwork) { self.network = network }

    func connect(
        to endpoint: Endpoint, _ delegate: any MessageConnectionDelegate
    ) throws -> any MessageConnection {
        guard !state.withLock({ $0.isCut }) else {
            throw TransportError(.unreachable, "the test has cut the network", isTransient: true)
        }
        let relay = Relay(delegate)
        let connection = network.connect(to: endpoint, delegate: relay)
        let isCut = state.withLock { state in
            if !state.isCut { state.current = (connection, relay) }
            return state.isCut
        }
        guard !isCut else {
            // Another thread has cut the link while the connection was being made.
            relay.silence()
            connection.abort()
            throw TransportError(.unreachable, "the test has cut the network", isTransient: true)
        }
        return connection
    }

    /// Breaks the connection, loses everything in transit, and prevents other connections until ``restore()``.
    func cut() {
        let current = state.withLock { state in
            state.isCut = true
            defer { state.current = nil }
            return state.current
        }
        guard let (connection, delegate) = current else { return }
        delegate.lose(connection)
        connection.abort()
    }

    func restore() { state.withLock { $0.isCut = false } }

    /// Passes on the events of a connection until the link is cut.
    private final class Relay: MessageConnectionDelegate {
        private let delegate: any MessageConnectionDelegate
        private let isLost = Mutex(false)

        init(_ delegate: any MessageConnectionDelegate) { self.delegate = delegate }

        func lose(_ connection: any MessageConnection) {
            isLost.withLock { isLost in
                guard !isLost else { return }
                isLost = true
                delegate.connection(
                    connection,
                    didCloseWith: TransportError(.connectionLost, "the test has cut the network", isTransient: true))
            }
        }

        func silence() { isLost.withLock { $0 = true } }

        private func pass(_ body: () -> Void) {
            isLost.withLock { if !$0 { body() } }
        }

        func connectionDidOpen(_ connection: any MessageConnection) { pass { delegate.connectionDidOpen(connection) } }

        func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
            pass { delegate.connection(connection, didReceive: message) }
        }

        func connectionDidDrain(_ connection: any MessageConnection) {
            pass { delegate.connectionDidDrain(connection) }
        }

        func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
            pass { delegate.connection(connection, didCloseWith: error) }
        }
    }
}
