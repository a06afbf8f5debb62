internal import COpenSSL

/// A key that signatures of tokens are checked with. It belongs to one algorithm, whatever a token says.
package struct VerificationKey: Sendable {
    private enum Material: Sendable {
        case publicKey(PublicKey)
        case secret([UInt8])
    }

    /// A public key of OpenSSL.
    private final class PublicKey: @unchecked Sendable {
        // OpenSSL only reads the key when it verifies, and counts its owners atomically.
        let pointer: OpaquePointer

        /// - Parameter encoded: a SubjectPublicKeyInfo (RFC 5280) in DER.
        init?(_ encoded: [UInt8]) {
            defer { ERR_clear_error() }
            let key = encoded.withUnsafeBufferPointer { bytes in
                var position = bytes.baseAddress
                return d2i_PUBKEY(nil, &position, bytes.count)
            }
            guard let key else { return nil }
            pointer = key
        }

        deinit { EVP_PKEY_free(pointer) }
    }

    package let algorithm: SignatureAlgorithm
    private let material: Material

    /// An RSA key.
    ///
    /// - Parameters:
    ///   - modulus: big-endian, 2048 to 16,384 bits.
    ///   - exponent: big-endian, odd and at least 3.
    ///   - algorithm: `rs256` or `ps256`.
    /// - Returns: nil for another algorithm, or a key that is too small or none at all.
    package init?(rsaModulus modulus: [UInt8], exponent: [UInt8], algorithm: SignatureAlgorithm) {
        let modulus = Array(modulus.drop { $0 == 0 })
        let exponent = Array(exponent.drop { $0 == 0 })
        guard algorithm == .rs256 || algorithm == .ps256, modulus.count <= 2_048, (1...8).contains(exponent.count),
            let last = exponent.last, last & 1 == 1, exponent != [1],
            let key = PublicKey(DER.rsaKey(modulus: modulus, exponent: exponent)),
            EVP_PKEY_get_bits(key.pointer) >= 2_048
        else { return nil }
        self.algorithm = algorithm
        material = .publicKey(key)
    }

    /// A key on the curve P-256.
    ///
    /// - Parameters:
    ///   - x, y: the coordinates, 32 big-endian bytes each.
    /// - Returns: nil when they are no point of the curve.
    package init?(p256X x: [UInt8], y: [UInt8]) {
        guard x.count == 32, y.count == 32, let key = PublicKey(DER.p256Prefix + x + y) else { return nil }
        algorithm = .es256
        material = .publicKey(key)
    }

    /// A key on the curve Ed25519.
    ///
    /// - Parameter bytes: 32 bytes.
    package init?(ed25519 bytes: [UInt8]) {
        guard bytes.count == 32, let key = PublicKey(DER.ed25519Prefix + bytes) else { return nil }
        algorithm = .edDSA
        material = .publicKey(key)
    }

    /// A secret for HMAC.
    ///
    /// - Returns: nil when it has fewer than 32 bytes.
    package init?(secret: [UInt8]) {
        guard secret.count >= SharedSecret.byteCountMin else { return nil }
        algorithm = .hs256
        material = .secret(secret)
    }

    /// Whether a signature is that of a message, with this key and its algorithm.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        switch material {
        case .secret(let secret):
            var code = [UInt8](repeating: 0, count: 32)
            var count: UInt32 = 0
            guard
                HMAC(EVP_sha256(), secret, Int32(secret.count), message, message.count, &code, &count) != nil,
                count == 32
            else { return false }
            return Secrets.equal(code, signature)
        case .publicKey(let key):
            guard let encoded = algorithm == .es256 ? DER.signature(signature) : signature else { return false }
            return verifies(encoded, of: message, with: key)
        }
    }

    private func verifies(_ signature: [UInt8], of message: [UInt8], with key: PublicKey) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        var options: OpaquePointer?
        let digest = algorithm == .edDSA ? nil : EVP_sha256()
        guard EVP_DigestVerifyInit(context, &options, digest, nil, key.pointer) == 1 else { return false }
        if algorithm == .ps256 {
            guard EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1,
                EVP_PKEY_CTX_set_rsa_mgf1_md(options, EVP_sha256()) == 1,
                // The salt is as long as the digest (RFC 7518, section 3.5).
                EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1
            else { return false }
        }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

/// The few forms of DER that keys and signatures have.
private enum DER {
    /// What comes before the coordinates of a key on P-256: the names of kind and curve, and the mark of a point that
    /// is not compressed.
    static let p256Prefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]
    static let ed25519Prefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
    private static let rsaKind: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]

    static func rsaKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let key = element(0x30, number(modulus) + number(exponent))
        return element(0x30, rsaKind + element(0x03, [0] + key))
    }

    /// The form that OpenSSL wants of a signature that tokens carry as two numbers of 32 bytes; nil for another length.
    static func signature(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count == 64 else { return nil }
        return element(0x30, number(Array(bytes[..<32])) + number(Array(bytes[32...])))
    }

    private static func number(_ bytes: [UInt8]) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.isEmpty || digits[0] >= 0x80 { digits.insert(0, at: 0) }
        return element(0x02, digits)
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        if content.count < 0x80 { return [tag, UInt8(content.count)] + content }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }
}
