import COpenSSL

/// Says why a server's certificate is not accepted, and what would be right.
enum CertificateError {
    /// - Parameters:
    ///   - result: OpenSSL's result of verifying the certificate.
    ///   - host: the name or address that the certificate should be for.
    ///   - trust: what the client trusts.
    ///   - setting: where that is configured.
    static func make(_ result: Int32, host: String, trust: TLSTrust?, setting: String) -> TransportError {
        switch result {
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            return TransportError(
                .untrustedCertificate,
                "the server's certificate is self-signed or signed by an unknown authority (host \(host)), and not by "
                    + "\(trusted(trust)); to accept it, trust the file of the authority that signed it (\(setting))"
                    + (isIncomplete(result) ? ", or have the server send the certificates in between" : ""))
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TransportError(
                .wrongHost,
                "the server's certificate is not valid for host \(host); connect by a name that it has")
        case CertificateNames.commonNameOnly:
            return TransportError(
                .wrongHost,
                "the server's certificate is not valid for host \(host): it has that name as its common name (CN) alone, "
                    + "which does not count (RFC 9525); the server needs a certificate that has it as subjectAltName")
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return TransportError(
                .certificateExpired,
                "the server's certificate or one that signed it has expired (host \(host)); the server needs another, "
                    + "or this machine's clock is wrong")
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return TransportError(
                .certificateExpired,
                "the server's certificate or one that signed it is not valid yet (host \(host)); check this machine's "
                    + "clock")
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL:
            return TransportError(
                .untrustedCertificate,
                "the key of the server's certificate, or of one that signed it, is too small (host \(host)): right "
                    + "would be RSA with 2048 bits or more, or an elliptic curve such as P-256")
        default:
            let reason = X509_verify_cert_error_string(Int(result)).map { String(cString: $0) } ?? "error \(result)"
            return TransportError(
                .untrustedCertificate, "the server's certificate is not accepted (host \(host)): \(reason)")
        }
    }

    /// Whether certificates between the server's and an authority may be missing.
    private static func isIncomplete(_ result: Int32) -> Bool {
        result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT || result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY
            || result == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE
    }

    private static func trusted(_ trust: TLSTrust?) -> String {
        switch trust {
        case .authorities(let files): "an authority in \(files.joined(separator: ", "))"
        case .pinned(let file): "the certificate in \(file)"
        case .systemAuthorities, .selfSignedOnly, nil: "an authority of the system"
        }
    }
}
