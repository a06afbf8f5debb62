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

    /// Returns the error of an established session that has failed, and clears OpenSSL's errors.
    ///
    /// - Parameter what: what has failed, with the peer.
    static func takeError(_ what: String) -> TransportError {
        let code = ERR_peek_error()
        ERR_clear_error()
        // What arrives has been changed on the way, unless the server says that it ends the session.
        let outlook = TLSReason(code).outlook
        return TransportError(
            .tlsFailed, "\(what): \(code == 0 ? "no reason given" : text(code))",
            outlook: outlook == .lasting ? .lasting : .passing)
    }

    /// Returns the error of a failed handshake and clears OpenSSL's errors.
    ///
    /// - Parameters:
    ///   - verification: OpenSSL's result of verifying the certificate.
    ///   - context: what a client trusts.
    ///   - host: the name that the certificate should have; nil on a server.
    static func takeHandshakeError(
        verification: Int, by context: TLSContext, host: String?, peer: String
    ) -> TransportError {
        let code = ERR_peek_error()
        ERR_clear_error()
        let reason = TLSReason(code)
        if let host {
            if reason == .certificateRefused {
                return CertificateError.make(
                    Int32(truncatingIfNeeded: verification), host: host, trust: context.trust,
                    setting: context.trustSetting)
            }
            if reason == .noTLS {
                return TransportError(
                    .tlsMismatch, "\(peer) does not speak TLS: connect with ws:// instead of wss://", outlook: .unclear)
            }
        } else if reason == .noTLS {
            return TransportError(.tlsMismatch, "\(peer) does not speak TLS")
        }
        switch reason {
        case .noCipher:
            return TransportError(
                .tlsFailed,
                "the TLS handshake with \(peer) failed: no cipher in common; right would be TLS 1.3, or TLS 1.2 with "
                    + "forward secrecy (ECDHE or DHE)")
        case .end:
            return TransportError(
                .connectionLost, "\(peer) closed the connection during the TLS handshake; it may not speak TLS",
                outlook: .passing)
        default:
            return TransportError(
                .tlsFailed, "the TLS handshake with \(peer) failed: \(text(code))", outlook: reason.outlook)
        }
    }
}
