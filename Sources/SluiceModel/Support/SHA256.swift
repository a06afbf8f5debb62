internal import COpenSSL

/// SHA-256 (FIPS 180-4), computed by OpenSSL.
package enum SHA256 {
    /// The length of a digest, in bytes.
    package static let byteCount = 32

    /// The 32-byte digest of `bytes`.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { result, count in
            bytes.withUnsafeBytes { digest($0, into: result.baseAddress!) }
            count = byteCount
        }
    }

    /// Writes the digest of `bytes`.
    ///
    /// - Parameter result: room for ``byteCount`` bytes.
    static func digest(_ bytes: UnsafeRawBufferPointer, into result: UnsafeMutablePointer<UInt8>) {
        let succeeded = EVP_Digest(bytes.baseAddress, bytes.count, result, nil, algorithm.pointer, nil)
        precondition(succeeded == 1, "SHA-256 is not available in this OpenSSL")
    }

    /// Fetched once, because looking up an algorithm by name costs more than hashing a key.
    private static let algorithm = Algorithm()

    private struct Algorithm: @unchecked Sendable {
        // OpenSSL method tables are immutable after the fetch, and any thread may use them.
        let pointer = EVP_MD_fetch(nil, "SHA256", nil)
    }
}
