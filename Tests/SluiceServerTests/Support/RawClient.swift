import SluiceModel
import SluiceTransport
import SluiceWire
import Synchronization

/// A client that sends the messages that a test gives it, and keeps those that arrive.
final class RawClient: MessageConnectionDelegate {
    private let received: AsyncStream<ServerMessage>
    private let continuation: AsyncStream<ServerMessage>.Continuation
    private let error = Mutex<TransportError?>(nil)

    init() { (received, continuation) = AsyncStream.makeStream() }

    /// Waits for the next message from the server; nil once the connection has ended.
    func next() async -> ServerMessage? {
        for await message in received { return message }
        return nil
    }

    /// Waits for the end of the connection, and returns its error.
    func end() async -> TransportError? {
        for await _ in received {}
        return error.withLock { $0 }
    }

    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        guard let messages = try? Frame.decode(Array(message), as: ServerMessage.self) else { return }
        for message in messages { continuation.yield(message) }
    }

    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
        self.error.withLock { $0 = error }
        continuation.finish()
    }
}

extension MessageConnection {
    /// Sends messages in one frame.
    func send(_ messages: ClientMessage...) {
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        send(SharedBuffer(frame.finish()))
    }
}
