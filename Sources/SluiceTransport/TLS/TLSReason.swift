import COpenSSL

/// What an error of OpenSSL says about the peer.
enum TLSReason: Equatable {
    /// The connection has ended in the middle.
    case end
    /// What arrives is not TLS.
    case noTLS
    /// The certificate does not hold.
    case certificateRefused
    /// No cipher is known to both sides.
    case noCipher
    /// No version, or another part of the protocol, is known to both sides.
    case noProtocol
    /// The peer has sent this alert (RFC 8446, section 6).
    case alert(Int32)
    case other

    /// - Parameter code: of OpenSSL's queue of errors; 0 if it is empty.
    init(_ code: UInt) {
        guard code != 0 else {
            self = .end
            return
        }
        guard ERR_GET_LIB(code) == ERR_LIB_SSL else {
            self = .other
            return
        }
        let reason = ERR_GET_REASON(code)
        switch reason {
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: self = .end
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG:
            self = .noTLS
        case SSL_R_CERTIFICATE_VERIFY_FAILED: self = .certificateRefused
        case SSL_R_NO_SHARED_CIPHER: self = .noCipher
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_WRONG_SSL_VERSION, SSL_R_NO_PROTOCOLS_AVAILABLE,
            SSL_R_DH_KEY_TOO_SMALL, SSL_R_WRONG_CIPHER_RETURNED, SSL_R_UNKNOWN_CIPHER_RETURNED:
            self = .noProtocol
        default:
            self = reason >= SSL_AD_REASON_OFFSET ? .alert(reason - SSL_AD_REASON_OFFSET) : .other
        }
    }

    /// Whether trying again may help a client.
    var outlook: TransportError.Outlook {
        switch self {
        case .end: .passing
        case .noTLS, .other: .unclear
        case .certificateRefused, .noCipher, .noProtocol: .lasting
        case .alert(let number): Self.outlook(ofAlert: number)
        }
    }

    private static func outlook(ofAlert number: Int32) -> TransportError.Outlook {
        switch number {
        // Of a server that has a problem, or is stopped.
        case SSL_AD_INTERNAL_ERROR, SSL_AD_USER_CANCELLED: .passing
        case SSL_AD_HANDSHAKE_FAILURE, SSL_AD_PROTOCOL_VERSION, SSL_AD_INSUFFICIENT_SECURITY,
            SSL_AD_INAPPROPRIATE_FALLBACK, SSL_AD_MISSING_EXTENSION, SSL_AD_UNSUPPORTED_EXTENSION,
            SSL_AD_NO_APPLICATION_PROTOCOL:
            .lasting
        case SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_REVOKED,
            SSL_AD_CERTIFICATE_EXPIRED, SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA, SSL_AD_ACCESS_DENIED,
            SSL_AD_CERTIFICATE_REQUIRED:
            .lasting
        default: .unclear
        }
    }
}
