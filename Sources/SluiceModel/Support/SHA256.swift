internal import COpenSSL

/// SHA-256 (FIPS 180-4), computed by OpenSSL.
package enum SHA256 {
    /// The 32-byte digest of `bytes`.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: 32)
        let succeeded = EVP_Digest(bytes, bytes.count, &result, nil, algorithm.pointer, nil)
        precondition(succeeded == 1, "SHA-256 is not available in this OpenSSL")
        return result
    }

    /// Fetched once, because looking up an algorithm by name costs more than hashing a key.
    private static let algorithm = Algorithm()

    private struct Algorithm: @unchecked Sendable {
        // OpenSSL method tables are immutable after the fetch, and any thread may use them.
        let pointer = EVP_MD_fetch(nil, "SHA256", nil)
    }
}
