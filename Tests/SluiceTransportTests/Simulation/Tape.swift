import Synchronization

@testable import SluiceTransport

/// A delegate that records what its connection delivers, and pauses after chosen messages.
final class Tape: MessageConnectionDelegate {
    struct State: Equatable {
        var isOpen = false
        var messages: [[UInt8]] = []
        var closes: [TransportError?] = []
    }

    private let state = Mutex(State())
    /// The numbers of messages after which it pauses; 0 is the opening.
    private let pauses: Set<Int>
    /// The messages that it sends at the opening.
    private let greetings: [[UInt8]]

    init(pauses: Set<Int> = [], greetings: [[UInt8]] = []) {
        self.pauses = pauses
        self.greetings = greetings
    }

    var recorded: State { state.withLock { $0 } }

    func connectionDidOpen(_ connection: any MessageConnection) {
        state.withLock { $0.isOpen = true }
        for greeting in greetings { connection.send(SharedBuffer(greeting)) }
        if pauses.contains(0) { connection.pauseReceiving() }
    }

    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        let count = state.withLock { state in
            state.messages.append(Array(message))
            return state.messages.count
        }
        if pauses.contains(count) { connection.pauseReceiving() }
    }

    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
        state.withLock { $0.closes.append(error) }
    }
}

/// Accepts every connection with the same delegate.
struct TapeAcceptor: ConnectionAcceptor {
    let tls: TLSContext?
    let tape: Tape

    func decide(_ request: HTTPRequest, for connection: WebSocketConnection) -> UpgradeDecision { .accept(tape) }

    func route(_ request: HTTPRequest, for connection: WebSocketConnection) -> HTTPRoute { .notFound }

    func beginAnswer(on connection: WebSocketConnection) -> HTTPResponse? { nil }

    func admit(_ connection: WebSocketConnection) {}

    func remove(_ connection: WebSocketConnection, refusedBecause error: TransportError?) {}
}
