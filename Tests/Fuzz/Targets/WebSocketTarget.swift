import SluiceTransport

/// Frames of a WebSocket connection, fed in pieces whose size the first byte gives.
enum WebSocketTarget {
    static func run(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let pieceSize = Int(first >> 1) + 1
        let whole = events(bytes.dropFirst(), side: first & 1 == 0 ? .server : .client, pieceSize: .max)
        let pieces = events(bytes.dropFirst(), side: first & 1 == 0 ? .server : .client, pieceSize: pieceSize)
        precondition(whole == pieces, "what comes in pieces of \(pieceSize) is taken for something else")
    }

    private static func events(_ bytes: ArraySlice<UInt8>, side: FrameDecoder.Side, pieceSize: Int) -> [[UInt8]] {
        var decoder = FrameDecoder(side: side, messageByteCountMax: 1 << 16)
        var events: [[UInt8]] = []
        var rest = bytes
        while !rest.isEmpty {
            var piece = Array(rest.prefix(pieceSize))
            rest = rest.dropFirst(pieceSize)
            if let error = decode(&piece, &decoder, &events) {
                events.append(Array("error \(error)".utf8))
                return events
            }
        }
        return events
    }

    private static func decode(
        _ piece: inout [UInt8], _ decoder: inout FrameDecoder, _ events: inout [[UInt8]]
    ) -> (any Error)? {
        piece.withUnsafeMutableBytes { bytes in
            var input = bytes
            do {
                while let event = try decoder.next(&input) {
                    switch event {
                    case .message(let bytes): events.append([0] + bytes)
                    case .ping(let bytes): events.append([1] + bytes)
                    case .pong(let bytes): events.append([2] + bytes)
                    case .close(let code, let reason):
                        events.append([3] + Array("\(String(describing: code)) \(reason)".utf8))
                    }
                }
                return nil
            } catch {
                return error
            }
        }
    }
}
