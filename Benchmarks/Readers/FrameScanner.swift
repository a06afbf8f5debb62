import SluiceWire

/// Finds the types of the messages in a server's stream of WebSocket frames, without decoding what is in them.
struct FrameScanner {
    private enum Place {
        /// In the answer to the upgrade: how much of the blank line at its end was seen.
        case head(matched: Int)
        /// In a frame's header, of which these bytes were seen.
        case header([UInt8])
        /// At the first byte of a frame's content.
        case flags(left: Int)
        /// At the beginning of a message, of which these bytes were seen.
        case message([UInt8], left: Int)
        /// In a message, of which this many bytes are left.
        case content(Int, left: Int)
        /// In a ping, which needs no answer as long as the connection is not idle for long.
        case ping(left: Int)
        /// In a compressed frame.
        case compressed([UInt8], left: Int)
    }

    private static let blankLine = Array("\r\n\r\n".utf8)
    private var place = Place.head(matched: 0)

    /// Reads on.
    ///
    /// - Parameter note: called with the type of each message, once its beginning was seen.
    mutating func accept(_ bytes: UnsafeRawBufferPointer, _ note: (UInt8) throws -> Void) throws {
        var next = 0
        while next < bytes.count {
            switch place {
            case .head(let matched):
                let isNext = bytes[next] == Self.blankLine[matched]
                let count = isNext ? matched + 1 : bytes[next] == Self.blankLine[0] ? 1 : 0
                place = count == Self.blankLine.count ? .header([]) : .head(matched: count)
                next += 1
            case .header(var header):
                header.append(bytes[next])
                next += 1
                place = try Self.content(after: header)
            case .flags(let left):
                place = bytes[next] == 0 ? .message([], left: left - 1) : .compressed([bytes[next]], left: left - 1)
                next += 1
                if left == 1 { place = .header([]) }
            case .message(var start, let left):
                start.append(bytes[next])
                next += 1
                guard let (length, type) = Self.start(start) else {
                    place = .message(start, left: left - 1)
                    continue
                }
                try note(type)
                place = .content(length - 1, left: left - 1)
                leaveIfEnded()
            case .content(let count, let left):
                let step = min(count, bytes.count - next)
                next += step
                place = .content(count - step, left: left - step)
                leaveIfEnded()
            case .ping(let left):
                let step = min(left, bytes.count - next)
                next += step
                place = left == step ? .header([]) : .ping(left: left - step)
            case .compressed(var frame, let left):
                let step = min(left, bytes.count - next)
                frame += bytes[next..<next + step]
                next += step
                place = .compressed(frame, left: left - step)
                guard left == step else { continue }
                for message in try Frame.decode(frame, as: ServerMessage.self) { try note(message.type) }
                place = .header([])
            }
        }
    }

    private mutating func leaveIfEnded() {
        guard case .content(0, let left) = place else { return }
        place = left == 0 ? .header([]) : .message([], left: left)
    }

    private static func content(after header: [UInt8]) throws -> Place {
        guard header.count >= 2 else { return .header(header) }
        guard header[0] == 0x82 || header[0] == 0x89 else {
            throw BenchmarkError("a reader received a frame that begins with \(header[0])")
        }
        let short = Int(header[1] & 0x7F)
        let width = short < 126 ? 0 : short == 126 ? 2 : 8
        guard header.count == 2 + width else { return .header(header) }
        let count = width == 0 ? short : header[2...].reduce(0) { $0 << 8 | Int($1) }
        return header[0] == 0x82 ? .flags(left: count) : count == 0 ? .header([]) : .ping(left: count)
    }

    /// The length and the type of a message; nil if there are not enough bytes.
    private static func start(_ bytes: [UInt8]) -> (length: Int, type: UInt8)? {
        guard let end = bytes.firstIndex(where: { $0 < 0x80 }), bytes.count == end + 2 else { return nil }
        let length = bytes[...end].reversed().reduce(0) { $0 << 7 | Int($1 & 0x7F) }
        return (length, bytes[end + 1])
    }
}
