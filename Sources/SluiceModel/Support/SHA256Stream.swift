internal import COpenSSL

/// Computes the SHA-256 of bytes that come in pieces.
package final class SHA256Stream {
    private let context = EVP_MD_CTX_new()

    package init() {
        let succeeded = EVP_DigestInit_ex(context, EVP_sha256(), nil)
        precondition(succeeded == 1, "SHA-256 is not available in this OpenSSL")
    }

    deinit { EVP_MD_CTX_free(context) }

    package func add(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        let succeeded = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        precondition(succeeded == 1, "SHA-256 failed")
    }

    package func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }

    /// The 32 bytes of the digest. To be called once, after the last piece.
    package func finish() -> [UInt8] {
        var result = [UInt8](repeating: 0, count: 32)
        let succeeded = EVP_DigestFinal_ex(context, &result, nil)
        precondition(succeeded == 1, "SHA-256 failed")
        return result
    }
}
