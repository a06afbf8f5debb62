import SluiceTransport

/// The head of a request as a server receives it: in pieces, whose size the first byte gives.
enum HTTPTarget {
    static func run(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let whole = outcome(bytes.dropFirst(), pieceSize: .max)
        let pieces = outcome(bytes.dropFirst(), pieceSize: Int(first) + 1)
        precondition(whole == pieces, "'\(whole)' in pieces is '\(pieces)'")
    }

    private static func outcome(_ bytes: ArraySlice<UInt8>, pieceSize: Int) -> String {
        var handshake = ServerHandshake(subprotocols: ["sluice.1"])
        var rest = bytes
        while !rest.isEmpty {
            var piece = rest.prefix(pieceSize)
            rest = rest.dropFirst(pieceSize)
            while !piece.isEmpty {
                let (consumed, step) = piece.withUnsafeBytes { handshake.receive($0) }
                switch step {
                case .wait:
                    precondition(consumed > 0, "the handshake waits without taking anything")
                    piece = piece.dropFirst(consumed)
                case .request(let request): return "request \(request.target)"
                case .upgrade(let request, let subprotocol):
                    return "upgrade \(request.target) \(subprotocol ?? "")"
                // A head that is too long is rejected for its length before its first byte is parsed, unless that byte
                // arrived earlier.
                case .refuse: return "refused"
                }
            }
        }
        return "incomplete"
    }
}
