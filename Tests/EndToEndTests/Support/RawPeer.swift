import Glibc
import SluiceModel
import SluiceWire
import TestSupport

/// A blocking TCP client that sends exactly what a test wants, well-formed or not. Each wait lasts ``waitMax`` at most.
final class RawPeer {
    /// The error when the server ends the connection.
    struct Closed: Error {
        /// The WebSocket close code; nil if there was no closing handshake.
        var code: UInt16?
        /// The peer's reason; without a closing handshake, what the system says.
        var reason: String
    }

    enum Opcode: UInt8 { case continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 }

    private let descriptor: Int32
    /// Messages that arrived in one frame with the message that was waited for.
    private var pending: [ServerMessage] = []

    /// - Parameter host: the end of the loopback address that the client has; nil for that of all others.
    init(_ port: UInt16, receiveBufferSize: Int32? = nil, from host: UInt32? = nil) throws {
        descriptor = Loopback.socket()
        if var receiveBufferSize {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBufferSize, socklen_t(MemoryLayout<Int32>.size))
        }
        var limit = timeval(tv_sec: Int(waitMax / .seconds(1)), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if let host {
            guard Loopback.withAddress(port: 0, host: host, { bind(descriptor, $0, $1) }) == 0 else {
                throw Failure("the address cannot be had: \(errno)")
            }
        }
        guard Loopback.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 else {
            throw Failure("no connection to port \(port): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(descriptor) }

    // MARK: Bytes

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads everything up to the end of the connection.
    func receiveToEnd() -> String {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: all, as: UTF8.self) }
            all += buffer[..<count]
        }
    }

    private func receive(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + filled, count - filled, 0) }
            if got < 0, errno == EAGAIN { throw Failure("the server said nothing for \(waitMax)") }
            // With a time limit, a call is interrupted also by what has no handler, such as a process that goes on.
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw Closed(code: nil, reason: got < 0 ? String(cString: strerror(errno)) : "") }
            filled += got
        }
        return bytes
    }

    // MARK: WebSocket

    static let upgradeRequest =
        "GET /hostile HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + "Sec-WebSocket-Protocol: sluice.1\r\n\r\n"

    /// Performs the WebSocket handshake.
    ///
    /// - Parameter header: one more line of the request.
    func upgrade(header: String? = nil) throws {
        send(header.map { Self.upgradeRequest.dropLast(1) + $0 + "\r\n\r\n" } ?? Self.upgradeRequest)
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) { head += try receive(1) }
        let text = String(decoding: head, as: UTF8.self)
        guard text.hasPrefix("HTTP/1.1 101 ") else { throw Failure("no upgrade: \(text)") }
    }

    /// Makes a frame like a client's, with chosen deviations.
    static func frame(
        _ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isMasked: Bool = true, claimedLength: UInt64? = nil
    ) -> [UInt8] {
        var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | opcode]
        let mask: UInt8 = isMasked ? 0x80 : 0
        let length = claimedLength ?? UInt64(payload.count)
        switch length {
        case 0..<126: bytes.append(mask | UInt8(length))
        case 126..<65_536: bytes += [mask | 126, UInt8(length >> 8), UInt8(length & 0xFF)]
        default:
            bytes.append(mask | 127)
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
        }
        guard isMasked else { return bytes + payload }
        let key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
        return bytes + key + payload.enumerated().map { $1 ^ key[$0 & 3] }
    }

    func send(_ opcode: Opcode, _ payload: [UInt8]) { send(Self.frame(opcode.rawValue, payload)) }

    func send(_ messages: ClientMessage...) {
        for message in messages { send(.binary, Frame.encode(message)) }
    }

    private func receiveFrame() throws -> (opcode: UInt8, payload: [UInt8]) {
        let head = try receive(2)
        var length = UInt64(head[1] & 0x7F)
        if length >= 126 {
            length = try receive(length == 126 ? 2 : 8).reduce(0) { $0 << 8 | UInt64($1) }
        }
        return (head[0] & 0x0F, try receive(Int(length)))
    }

    /// Reads the next binary message or pong.
    ///
    /// - Throws: ``Closed`` at the end of the connection.
    func receive() throws -> (opcode: Opcode, payload: [UInt8]) {
        while true {
            let (code, payload) = try receiveFrame()
            switch Opcode(rawValue: code) {
            case .binary: return (.binary, payload)
            case .pong: return (.pong, payload)
            case .close:
                let number = payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
                throw Closed(code: number, reason: String(decoding: payload.dropFirst(2), as: UTF8.self))
            case .ping: send(.pong, payload)
            default: throw Failure("the server sent a frame of opcode \(code)")
            }
        }
    }

    /// Reads messages up to the wanted one.
    func receive<Result>(_ wanted: (ServerMessage) -> Result?) throws -> Result {
        while true {
            while !pending.isEmpty {
                if let result = wanted(pending.removeFirst()) { return result }
            }
            let (opcode, payload) = try receive()
            if opcode == .binary { pending = try Frame.decode(payload) }
        }
    }

    /// Reads to the end of the connection, and returns the failures that the server reported.
    func receiveProblems() throws -> (failures: [ServerMessage.Failure], closed: Closed) {
        var failures: [ServerMessage.Failure] = []
        do {
            while true {
                let failure = try receive { if case .error(let failure) = $0 { failure } else { nil } }
                failures.append(failure)
            }
        } catch let closed as Closed {
            return (failures, closed)
        }
    }

    // MARK: Sluice

    /// Sends the hello, and opens session 1.
    @discardableResult
    func open(
        _ database: String = "hostile", schema: Schema, options: ClientMessage.Open.Options = []
    ) throws -> ServerMessage.Opened {
        try upgrade()
        send(
            .hello(.init(features: .all, agent: "hostile")),
            .open(.init(session: 1, path: database, options: options, schema: schema)))
        return try receive { if case .opened(let opened) = $0 { opened } else { nil } }
    }

    /// Waits until the server has handled everything that was sent so far.
    ///
    /// - Returns: the failure of the session, if the server answers with one.
    func settle() throws -> ServerMessage.Failure? {
        send(.reportRequest(.init(session: 1, request: 4_711, topic: .status)))
        let answer: Answer = try receive { message in
            switch message {
            case .report(_, 4_711, _): .done
            case .error(let failure) where failure.action != .report: .failed(failure)
            default: nil
            }
        }
        return if case .failed(let failure) = answer { failure } else { nil }
    }

    private enum Answer {
        case done
        case failed(ServerMessage.Failure)
    }
}
