import COpenSSL

/// The challenge and response of the opening handshake (RFC 6455, section 4.2.2).
package enum WebSocketKey {
    /// A fresh `Sec-WebSocket-Key`: sixteen random bytes in base 64.
    package static func random(using generator: inout some RandomNumberGenerator) -> String {
        base64((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    /// The `Sec-WebSocket-Accept` that answers a key.
    package static func accept(_ key: String) -> String {
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        EVP_Digest(text, text.count, &digest, nil, EVP_sha1(), nil)
        return base64(digest)
    }

    /// Whether a text is sixteen bytes in base 64.
    static func isWellFormed(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        guard bytes.count == 24, bytes[22] == UInt8(ascii: "="), bytes[23] == UInt8(ascii: "=") else { return false }
        return bytes[..<22].allSatisfy { alphabet.contains($0) }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func base64(_ bytes: [UInt8]) -> String {
        var encoded = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&encoded, bytes, Int32(bytes.count))
        return String(decoding: encoded[..<Int(count)], as: UTF8.self)
    }
}
