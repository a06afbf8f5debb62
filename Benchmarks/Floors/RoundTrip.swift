import Dispatch
import SluiceTransport
import Synchronization

/// Measures what a message and its answer cost over our own transport: a WebSocket on loopback, whose server sends
/// everything back.
enum RoundTrip {
    /// The time of each of many round trips of a small message, in seconds.
    static func samples(_ count: Int, byteCount: Int = 128) async throws -> [Double] {
        let group = try EventLoopGroup()
        let server = try WebSocketServer.listen(
            host: "127.0.0.1", port: 0, group: group, hooks: ServerHooks(accept: { _, _ in .accept(Echo()) }))
        let loop = try EventLoop()
        let message = SharedBuffer([UInt8](repeating: 7, count: byteCount))
        let endpoint = try Endpoint("ws://127.0.0.1:\(server.port)/")
        let samples: [Double] = try await withCheckedThrowingContinuation { continuation in
            let pinger = Pinger(message, count: count) { continuation.resume(with: $0) }
            do {
                _ = try WebSocketClient.connect(to: endpoint, loop: loop, delegate: pinger)
            } catch {
                continuation.resume(throwing: error)
            }
        }
        await server.stop()
        group.stop()
        loop.stop()
        return samples
    }
}

/// Sends back what it receives.
private final class Echo: MessageConnectionDelegate {
    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        connection.send(SharedBuffer(message))
    }

    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {}
}

/// Sends one message after the other, each when the one before has come back.
private final class Pinger: MessageConnectionDelegate {
    private struct State {
        var samples: [Double] = []
        var sent = ContinuousClock.now
        var isDone = false
    }

    private let message: SharedBuffer
    private let count: Int
    private let done: @Sendable (Result<[Double], any Error>) -> Void
    private let state = Mutex(State())

    init(_ message: SharedBuffer, count: Int, done: @escaping @Sendable (Result<[Double], any Error>) -> Void) {
        self.message = message
        self.count = count
        self.done = done
    }

    func connectionDidOpen(_ connection: any MessageConnection) { ping(connection) }

    private func ping(_ connection: any MessageConnection) {
        state.withLock { $0.sent = .now }
        connection.send(message)
    }

    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        let now = ContinuousClock.now
        let samples = state.withLock { state -> [Double]? in
            state.samples.append((now - state.sent) / .seconds(1))
            guard state.samples.count == count else { return nil }
            state.isDone = true
            return state.samples
        }
        guard let samples else { return ping(connection) }
        done(.success(samples))
        connection.close()
    }

    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
        let wasDone = state.withLock { state in
            defer { state.isDone = true }
            return state.isDone
        }
        if !wasDone { done(.failure(BenchmarkError("the connection closed: \(error?.message ?? "normally")"))) }
    }
}
