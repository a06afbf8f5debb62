import CEpoll
import Foundation
import Synchronization
import TestSupport

/// Passes bytes between clients and a server on this machine, and counts them.
final class CountingProxy: Sendable {
    /// Bytes in both directions, without the heads of the WebSocket handshakes.
    struct Count: Sendable {
        var toServer = 0
        var toClient = 0
    }

    let port: UInt16
    private let serverPort: UInt16
    private let listener: Int32
    private let counts = Mutex(Count())

    init(to serverPort: UInt16) throws {
        (listener, port) = try Loopback.listen(backlog: 16)
        self.serverPort = serverPort
        Thread.detachNewThread { self.accept() }
    }

    /// Takes no further connections. Those that are open end with either of their sides.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Returns the bytes since the last call.
    func takeCount() -> Count {
        counts.withLock { count in
            defer { count = Count() }
            return count
        }
    }

    private func accept() {
        while true {
            let client = CEpoll.accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
            guard client >= 0 else {
                close(listener)
                return
            }
            guard let server = try? Loopback.connect(to: serverPort, of: "the server") else {
                close(client)
                continue
            }
            Thread.detachNewThread { self.pass(from: client, to: server) { $0.toServer += $1 } }
            Thread.detachNewThread { self.pass(from: server, to: client) { $0.toClient += $1 } }
        }
    }

    private func pass(from source: Int32, to target: Int32, _ note: @escaping (inout Count, Int) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        // The blank line that ends the head of the handshake.
        var matched = 0
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            var start = 0
            while matched < 4, start < count {
                let byte = buffer[start]
                matched = byte == (matched % 2 == 0 ? 13 : 10) ? matched + 1 : byte == 13 ? 1 : 0
                start += 1
            }
            counts.withLock { note(&$0, count - start) }
            var sent = 0
            while sent < count {
                let step = buffer.withUnsafeBytes {
                    send(target, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
                }
                guard step > 0 else { break }
                sent += step
            }
        }
        // The descriptors stay open until the process ends, since the other direction may still use them.
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }
}
