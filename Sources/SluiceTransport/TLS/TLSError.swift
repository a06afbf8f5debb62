import COpenSSL

/// Turns OpenSSL's errors into transport errors and texts.
enum TLSError {
    /// Returns the text of this thread's oldest error and clears all errors.
    static func takeText() -> String {
        let code = ERR_peek_error()
        ERR_clear_error()
        return code == 0 ? "no reason given" : text(code)
    }

    /// Whether the last error says that a key does not belong to the certificate.
    static var isKeyMismatch: Bool {
        let code = ERR_peek_last_error()
        guard ERR_GET_LIB(code) == ERR_LIB_X509 else { return false }
        return ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH || ERR_GET_REASON(code) == X509_R_KEY_TYPE_MISMATCH
    }

    /// Whether the last error says that a certificate's key is too small.
    static var isKeyTooSmall: Bool {
        let code = ERR_peek_last_error()
        guard ERR_GET_LIB(code) == ERR_LIB_SSL else { return false }
        return ERR_GET_REASON(code) == SSL_R_EE_KEY_TOO_SMALL || ERR_GET_REASON(code) == SSL_R_CA_KEY_TOO_SMALL
    }

    private static func text(_ code: UInt) -> String {
        ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
    }

    /// Returns the error of a failed handshake and clears OpenSSL's errors.
    ///
    /// - Parameters:
    ///   - verification: OpenSSL's result of verifying the certificate.
    ///   - host: the name that the certificate should have; nil on a server.
    static func takeHandshakeError(verification: Int, host: String?, peer: String) -> TransportError {
        let code = ERR_peek_error()
        ERR_clear_error()
        let isTLS = ERR_GET_LIB(code) == ERR_LIB_SSL
        let reason = isTLS ? ERR_GET_REASON(code) : 0
        if let host {
            if reason == SSL_R_CERTIFICATE_VERIFY_FAILED {
                return certificateError(Int32(truncatingIfNeeded: verification), host: host)
            }
            if [SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG].contains(reason) {
                return TransportError(
                    .tlsMismatch, "\(peer) does not speak TLS: connect with ws:// instead of wss://")
            }
        } else if [SSL_R_HTTP_REQUEST, SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTPS_PROXY_REQUEST].contains(reason) {
            return TransportError(.tlsMismatch, "\(peer) does not speak TLS")
        }
        if reason == SSL_R_NO_SHARED_CIPHER {
            return TransportError(
                .tlsFailed,
                "the TLS handshake with \(peer) failed: no cipher in common; right would be TLS 1.3, or TLS 1.2 with "
                    + "forward secrecy (ECDHE or DHE)")
        }
        guard code != 0 else {
            return TransportError(
                .connectionLost, "\(peer) closed the connection during the TLS handshake; it may not speak TLS",
                isTransient: true)
        }
        return TransportError(.tlsFailed, "the TLS handshake with \(peer) failed: \(text(code))")
    }

    /// Why a certificate is refused.
    static func certificateError(_ result: Int32, host: String) -> TransportError {
        switch result {
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            return TransportError(
                .untrustedCertificate,
                "the server's certificate is self-signed or signed by an unknown authority (host \(host)); to accept "
                    + "it, trust the file of the authority that signed it")
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TransportError(
                .wrongHost,
                "the server's certificate is not valid for host \(host); connect by a name that it has")
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return TransportError(
                .certificateExpired,
                "the server's certificate or one that signed it has expired (host \(host)); the server needs another, "
                    + "or this machine's clock is wrong")
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return TransportError(
                .certificateExpired,
                "the server's certificate or one that signed it is not valid yet; check this machine's clock")
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL:
            return TransportError(
                .untrustedCertificate,
                "the key of the server's certificate, or of one that signed it, is too small (host \(host)): right "
                    + "would be RSA with 2048 bits or more, or an elliptic curve such as P-256")
        default:
            let reason = X509_verify_cert_error_string(Int(result)).map { String(cString: $0) } ?? "error \(result)"
            return TransportError(.untrustedCertificate, "the server's certificate is not accepted: \(reason)")
        }
    }
}
