import SluiceTransport
import Synchronization

/// A connection on which what is sent waits until the test takes it.
final class FullConnection: MessageConnection {
    let id = ConnectionID(rawValue: 1)
    let peerDescription = "192.0.2.1:4000"
    private let state = Mutex((bytes: 0, pauses: PauseReason()))

    var queuedBytes: Int {
        get { state.withLock(\.bytes) }
        set { state.withLock { $0.bytes = newValue } }
    }
    var pauses: PauseReason { state.withLock(\.pauses) }

    func send(_ message: SharedBuffer) { state.withLock { $0.bytes += message.count } }
    func admit() {}
    func close(code: CloseCode, reason: String) {}
    func abort() {}
    func pauseReceiving(for reason: PauseReason) { state.withLock { _ = $0.pauses.insert(reason) } }
    func resumeReceiving(after reason: PauseReason) { state.withLock { _ = $0.pauses.remove(reason) } }
}
