import SluiceTransport

/// The body of a request as a server receives it: in pieces, whose size the first byte gives. The second byte says how
/// long a body may be; if it is even the body is in chunks, else the third byte is its length.
enum HTTPBodyTarget {
    static func run(_ bytes: [UInt8]) {
        guard bytes.count >= 3 else { return }
        let byteCountMax = Int(bytes[1])
        let framing: HTTPBodyReader.Framing = bytes[1] % 2 == 0 ? .chunked : .length(Int(bytes[2]))
        let body = bytes[3...]
        let whole = outcome(body, framing, byteCountMax, pieceSize: .max)
        let pieces = outcome(body, framing, byteCountMax, pieceSize: Int(bytes[0]) + 1)
        precondition(whole == pieces, "\(whole) in pieces is \(pieces)")
    }

    private enum Outcome: Equatable {
        case incomplete
        case whole([UInt8], consumed: Int)
        case tooLong
        // Which of two faults in one piece is met first depends on where the piece ends.
        case malformed
    }

    private static func outcome(
        _ bytes: ArraySlice<UInt8>, _ framing: HTTPBodyReader.Framing, _ byteCountMax: Int, pieceSize: Int
    ) -> Outcome {
        do {
            var reader = try HTTPBodyReader(framing, byteCountMax: byteCountMax)
            var rest = bytes
            while !rest.isEmpty, !reader.isWhole {
                let piece = rest.prefix(pieceSize)
                let consumed = try piece.withUnsafeBytes { try reader.receive($0) }
                precondition(reader.isWhole || consumed == piece.count, "the reader left bytes that are its own")
                precondition(reader.bytes.count <= byteCountMax, "the body is longer than it may be")
                rest = rest.dropFirst(consumed)
            }
            return reader.isWhole ? .whole(reader.bytes, consumed: bytes.count - rest.count) : .incomplete
        } catch {
            return error as? HTTPBodyReader.Failure == .tooLong ? .tooLong : .malformed
        }
    }
}
