import COpenSSL

/// Says which certificate has a key that OpenSSL's security level refuses, and what would be right.
enum KeySize {
    /// What a security level asks for (OpenSSL, SSL_CTX_set_security_level): bits of strength, of RSA and of a curve.
    private static func minimum(_ level: Int32) -> (strength: Int32, rsa: Int, curve: Int) {
        switch level {
        case ...1: (80, 1_024, 160)
        case 2: (112, 2_048, 224)
        case 3: (128, 3_072, 256)
        case 4: (192, 7_680, 384)
        default: (256, 15_360, 512)
        }
    }

    /// The error for the first certificate in a file whose key is too small; nil when there is none.
    ///
    /// - Parameters:
    ///   - file: certificates in PEM form.
    ///   - level: the security level that refused one of them.
    static func error(_ file: String, level: Int32) -> TransportError? {
        let minimum = minimum(level)
        guard let source = BIO_new_file(file, "r") else { return nil }
        defer { BIO_free(source) }
        var number = 0
        while let certificate = PEM_read_bio_X509(source, nil, nil, nil) {
            defer { X509_free(certificate) }
            number += 1
            guard let key = X509_get0_pubkey(certificate), EVP_PKEY_get_security_bits(key) < minimum.strength else {
                continue
            }
            let kind =
                switch EVP_PKEY_get_base_id(key) {
                case EVP_PKEY_RSA: "RSA"
                case EVP_PKEY_EC: "elliptic-curve"
                default: "public"
                }
            return TransportError(
                .certificateFile,
                "certificate \(number) in \(file) has a key that is too small: \(EVP_PKEY_get_bits(key)) bits "
                    + "(\(kind)); right would be RSA with \(minimum.rsa) bits or more, or an elliptic curve with "
                    + "\(minimum.curve) bits or more, such as P-256")
        }
        return nil
    }
}
