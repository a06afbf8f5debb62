internal import COpenSSL
internal import SluiceModel

/// What every use of a secret needs: bytes that nobody can guess, and comparisons whose time tells nothing.
package enum Secrets {
    /// Random bytes from OpenSSL's generator.
    package static func random(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let succeeded = RAND_bytes(&bytes, Int32(count))
        precondition(succeeded == 1, "this machine has no randomness")
        return bytes
    }

    /// Whether two byte strings of equal length are equal, in a time that depends on their length alone.
    package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}

/// A secret that server and clients share. Only its hash is kept.
package struct SharedSecret: Sendable {
    /// The fewest bytes that a secret has.
    package static let byteCountMin = 32

    private let digest: [UInt8]

    /// - Returns: nil when the secret has fewer than 32 bytes.
    package init?(_ secret: [UInt8]) {
        guard secret.count >= Self.byteCountMin else { return nil }
        digest = SHA256.digest(secret)
    }

    /// Whether a client knows the secret. The time tells neither how long the secret is nor how much of it was right.
    package func isEqual(to presented: [UInt8]) -> Bool { Secrets.equal(digest, SHA256.digest(presented)) }
}
