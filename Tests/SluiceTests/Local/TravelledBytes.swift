import SluiceTransport
import SluiceWire
import Synchronization

/// What a store has sent: byte for byte, and what the messages say, since large ones are compressed.
final class TravelledBytes: Sendable {
    private let bytes = Mutex<(all: [UInt8], text: String)>(([], ""))

    /// Every byte, message after message.
    var all: [UInt8] { bytes.withLock { $0.all } }
    /// Every message in Swift's own words, which name all of its fields.
    var text: String { bytes.withLock { $0.text } }

    /// The connection, which also notes what is sent through it.
    func recording(_ connection: any MessageConnection) -> any MessageConnection { Recorder(connection, self) }

    private func note(_ message: SharedBuffer) {
        message.withUnsafeBytes { message in
            let messages = (try? Frame.decode(Array(message), as: ClientMessage.self)) ?? []
            bytes.withLock {
                $0.all += message
                for message in messages { dump(message, to: &$0.text) }
            }
        }
    }

    private final class Recorder: MessageConnection {
        private let inner: any MessageConnection
        private let bytes: TravelledBytes

        init(_ inner: any MessageConnection, _ bytes: TravelledBytes) {
            self.inner = inner
            self.bytes = bytes
        }

        var id: ConnectionID { inner.id }
        var peerDescription: String { inner.peerDescription }
        var queuedBytes: Int { inner.queuedBytes }

        func send(_ message: SharedBuffer) {
            bytes.note(message)
            inner.send(message)
        }

        func admit() { inner.admit() }
        func close(code: CloseCode, reason: String) { inner.close(code: code, reason: reason) }
        func abort() { inner.abort() }
        func pauseReceiving(for reason: PauseReason) { inner.pauseReceiving(for: reason) }
        func resumeReceiving(after reason: PauseReason) { inner.resumeReceiving(after: reason) }
    }
}

extension Array<UInt8> {
    func contains(_ part: [UInt8]) -> Bool {
        guard part.count <= count else { return false }
        return indices.dropLast(part.count - 1).contains { start in self[start..<start + part.count].elementsEqual(part)
        }
    }
}
