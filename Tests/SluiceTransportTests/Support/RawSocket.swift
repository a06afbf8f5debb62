import CEpoll
import Glibc

@testable import SluiceTransport

/// A blocking TCP client that sends exactly what a test wants.
final class RawSocket {
    private var descriptor: Int32

    init(port: UInt16, receiveBufferByteCount: Int32? = nil) throws {
        let address = try SocketAddress.resolve("127.0.0.1", port: port, isListening: false)[0]
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if let receiveBufferByteCount {
            Socket.set(descriptor, level: SOL_SOCKET, option: SO_RCVBUF, receiveBufferByteCount)
        }
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard address.withPointer({ connect(descriptor, $0, $1) }) == 0 else {
            throw TransportError.system(errno, "connect")
        }
    }

    deinit { disconnect() }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = uninterrupted {
                rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Reads some bytes; empty at the end, or after 20 s without any.
    func receive() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = uninterrupted { recv(descriptor, &buffer, buffer.count, 0) }
        return Array(buffer.prefix(max(count, 0)))
    }

    func receiveUntilEnd() -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let piece = receive()
            guard !piece.isEmpty else { return all }
            all += piece
        }
    }

    /// Reads up to the end of an HTTP head and returns it.
    func receiveHead() -> String {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), uninterrupted({ recv(descriptor, &byte, 1, 0) }) == 1 {
            head.append(byte)
        }
        return String(decoding: head, as: UTF8.self)
    }

    /// Repeats a call that a signal interrupts. With a time limit on the socket the system does not, and other tests start
    /// processes, whose ends are signals.
    private func uninterrupted(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            guard result < 0, errno == EINTR else { return result }
        }
    }

    /// Ends the connection with a reset instead of an orderly close.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        disconnect()
    }

    func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    func disconnect() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Asks for an upgrade, and returns the answer.
    func upgrade() -> String {
        send(RawSocket.upgradeRequest)
        return receiveHead()
    }

    static let upgradeRequest =
        "GET /db HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + "Sec-WebSocket-Protocol: sluice.1\r\n\r\n"
}

/// Frames as bytes.
enum RawFrame {
    static func masked(_ opcode: Opcode, _ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
        frame(opcode, payload, maskKey: 0x37FA_213D, isFinal: isFinal)
    }

    static func frame(_ opcode: Opcode, _ payload: [UInt8], maskKey: UInt32?, isFinal: Bool = true) -> [UInt8] {
        payload.withUnsafeBytes {
            FrameEncoder.frame(opcode, payload: $0, maskKey: maskKey, isFinal: isFinal).withUnsafeBytes { Array($0) }
        }
    }
}
