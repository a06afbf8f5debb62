import COpenSSL

/// How the name in a certificate is compared with the host (RFC 9525).
enum CertificateNames {
    /// Names are those of `subjectAltName`: the subject's common name never counts, and `*` only as a whole label.
    static let rules = UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)

    /// The result of verifying a certificate that has the host as its common name, and not where it would count.
    static let commonNameOnly = X509_V_ERR_APPLICATION_VERIFICATION

    /// Replaces the result of a certificate that is for another host by ``commonNameOnly`` where that is why.
    ///
    /// - Parameter chain: what is being verified, and has failed.
    static func noteCommonName(_ chain: OpaquePointer) {
        guard [X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH].contains(X509_STORE_CTX_get_error(chain)),
            let certificate = X509_STORE_CTX_get0_cert(chain), let parameters = X509_STORE_CTX_get0_param(chain)
        else { return }
        // That there is no address is an error to OpenSSL, and would hide why the handshake fails.
        ERR_set_mark()
        let address = X509_VERIFY_PARAM_get1_ip_asc(parameters)
        ERR_pop_to_mark()
        defer { CRYPTO_free(address, "", 0) }
        func has(_ name: UnsafePointer<CChar>, _ flags: Int32) -> Bool {
            X509_check_host(certificate, name, 0, UInt32(flags), nil) == 1
        }
        guard let name = address ?? X509_VERIFY_PARAM_get0_host(parameters, 0),
            has(name, X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT), !has(name, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
        else { return }
        X509_STORE_CTX_set_error(chain, commonNameOnly)
    }
}
