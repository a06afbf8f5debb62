internal import Dispatch
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// A connection without a socket: the session of one HTTP request. What the server sends it goes to a closure, in order
/// and on a queue of its own, so that no database waits for what is made of it.
final class ExchangeConnection: MessageConnection {
    let id = ConnectionNumbers.next()
    let peerDescription: String
    private let receive: Mutex<(@Sendable ([ServerMessage]) -> Void)?>
    private let didEnd: Mutex<(@Sendable () -> Void)?>
    private let queue = DispatchQueue(label: "sluice.exchange")

    /// - Parameter peer: the address of whoever made the request.
    init(from peer: String) {
        peerDescription = peer
        receive = Mutex(nil)
        didEnd = Mutex(nil)
    }

    /// Says where messages go, and who is told of the end.
    func begin(_ receive: @escaping @Sendable ([ServerMessage]) -> Void, didEnd: @escaping @Sendable () -> Void) {
        self.receive.withLock { $0 = receive }
        self.didEnd.withLock { $0 = didEnd }
    }

    /// What a request has got so far is its own to hold.
    var queuedBytes: Int { 0 }

    func send(_ message: SharedBuffer) {
        guard let receive = receive.withLock({ $0 }) else { return }
        queue.async {
            let messages = message.withUnsafeBytes { bytes in (try? Frame.decode(Array(bytes))) ?? [ServerMessage]() }
            if !messages.isEmpty { receive(messages) }
        }
    }

    func admit() {}

    func close(code: CloseCode, reason: String) { abort() }

    func abort() {
        receive.withLock { $0 = nil }
        let didEnd = didEnd.withLock { didEnd in
            defer { didEnd = nil }
            return didEnd
        }
        // Behind what the server has sent before.
        if let didEnd { queue.async(execute: didEnd) }
    }

    func pauseReceiving(for reason: PauseReason) {}
    func resumeReceiving(after reason: PauseReason) {}
}
