import CEpoll
import Glibc
import TestSupport

/// One connection to Redis, which blocks. One thread at a time uses it.
final class RespConnection: @unchecked Sendable {
    /// How long an answer may take.
    private static let secondsMax = 60

    let descriptor: Int32
    private var parser = RespParser()
    private var request: [UInt8] = []

    /// Connects to a Redis on this machine.
    init(port: UInt16) throws {
        descriptor = try Loopback.connect(to: port, of: "Redis")
        var isOn: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        var time = timeval(tv_sec: Self.secondsMax, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Sends a command, and waits for its answer.
    @discardableResult
    func call(_ command: String...) throws -> RespValue {
        try send(command)
        return try receive()
    }

    /// Sends a command.
    func send(_ command: [String]) throws {
        request.removeAll(keepingCapacity: true)
        request += "*\(command.count)\r\n".utf8
        for word in command { request += "$\(word.utf8.count)\r\n\(word)\r\n".utf8 }
        var sent = 0
        while sent < request.count {
            let count = request.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw BenchmarkError("send to Redis: \(String(cString: strerror(errno)))") }
            sent += count
        }
    }

    /// Waits for the next answer.
    ///
    /// - Throws: ``BenchmarkError`` if it says that the command has failed.
    func receive() throws -> RespValue {
        while true {
            if let value = try parser.next() {
                if case .failure(let text) = value { throw BenchmarkError("Redis says: \(text)") }
                return value
            }
            try withUnsafeTemporaryAllocation(byteCount: 1 << 14, alignment: 16) { buffer in
                let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
                guard count > 0 else {
                    let reason = count == 0 ? "it has closed the connection" : String(cString: strerror(errno))
                    throw BenchmarkError("receive from Redis: \(reason)")
                }
                parser.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
    }
}
