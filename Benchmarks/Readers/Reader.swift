import CEpoll
import Glibc
import SluiceWire
import TestSupport

/// One socket that reads. It counts WebSocket messages; before its subscription is complete it also decodes them.
final class Reader {
    let descriptor: Int32
    /// Whether all messages from now on belong to rounds.
    private(set) var isReady: Bool
    private(set) var messageCount = 0
    /// The bytes of those messages, their headers included.
    private(set) var byteCount = 0
    private var isUpgraded: Bool
    /// The beginning of a message whose rest has not come.
    private var partial: [UInt8] = []

    /// Connects.
    ///
    /// - Parameter greeting: the bytes to send at once; nil for a reader that is ready without any.
    init(port: UInt16, greeting: [UInt8]?) throws {
        descriptor = try Loopback.connect(to: port, of: "what is read")
        isReady = greeting == nil
        isUpgraded = greeting == nil
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        if let greeting { try send(greeting) }
    }

    private func send(_ bytes: [UInt8]) throws {
        guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw BenchmarkError("a reader could not send")
        }
    }

    /// Accepts received bytes.
    ///
    /// - Returns: how many messages ended in them.
    func accept(_ bytes: UnsafeRawBufferPointer) throws -> Int {
        guard partial.isEmpty else {
            partial += bytes
            let all = partial
            partial = []
            return try all.withUnsafeBytes(acceptWhole)
        }
        return try acceptWhole(bytes)
    }

    private func acceptWhole(_ bytes: UnsafeRawBufferPointer) throws -> Int {
        var rest = bytes[...]
        if !isUpgraded {
            guard let end = Self.endOfHead(rest) else {
                partial = Array(rest)
                return 0
            }
            isUpgraded = true
            rest = rest[end...]
        }
        var ended = 0
        while let frame = RawFrame(rest) {
            rest = rest[frame.end...]
            switch frame.opcode {
            case 1, 2:
                if isReady {
                    messageCount += 1
                    byteCount += frame.byteCount
                    ended += 1
                } else {
                    try read(Array(frame.payload))
                }
            case 9: try send([0x8A, 0x80 | UInt8(frame.payload.count), 0, 0, 0, 0] + frame.payload)
            default: throw BenchmarkError("a reader received the opcode \(frame.opcode)")
            }
        }
        if !rest.isEmpty { partial = Array(rest) }
        return ended
    }

    private func read(_ frame: [UInt8]) throws {
        // A message in the JSON form.
        if frame.first == UInt8(ascii: "{") {
            let text = String(decoding: frame, as: UTF8.self)
            if text.hasPrefix("{\"type\":\"error\"") { throw BenchmarkError("the server refused a reader: \(text)") }
            isReady = text.hasPrefix("{\"type\":\"change\"") && text.contains("\"state\":\"complete\"")
            return
        }
        for message in try Frame.decode(frame, as: ServerMessage.self) {
            switch message {
            case .complete: isReady = true
            case .error, .subscriptionError: throw BenchmarkError("the server refused a reader: \(message)")
            default: break
            }
        }
    }

    private static func endOfHead(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        return bytes.indices.first { bytes[$0...].starts(with: mark) }.map { $0 + mark.count }
    }
}

/// A server's frame at the beginning of some bytes; nil if the frame is not complete.
private struct RawFrame {
    let opcode: UInt8
    let payload: Slice<UnsafeRawBufferPointer>
    let byteCount: Int
    var end: Int { payload.endIndex }

    init?(_ bytes: Slice<UnsafeRawBufferPointer>) {
        guard bytes.count >= 2 else { return nil }
        opcode = bytes[bytes.startIndex] & 0x0F
        var count = Int(bytes[bytes.startIndex + 1] & 0x7F)
        var start = bytes.startIndex + 2
        if count >= 126 {
            let width = count == 126 ? 2 : 8
            guard bytes.count >= 2 + width else { return nil }
            count = bytes[start..<start + width].reduce(0) { $0 << 8 | Int($1) }
            start += width
        }
        guard bytes.endIndex - start >= count else { return nil }
        payload = bytes[start..<start + count]
        byteCount = payload.endIndex - bytes.startIndex
    }
}
