import COpenSSL
import Glibc

/// The certificates and rules that many TLS sessions share.
final class TLSContext: @unchecked Sendable {  // OpenSSL locks; nothing changes after `init`.
    let pointer: OpaquePointer
    /// Which certificates a client accepts; nil for a server.
    let trust: TLSTrust?
    /// How whoever configures the client says which certificates it accepts, for messages.
    let trustSetting: String

    private init(_ method: OpaquePointer?, trust: TLSTrust?, setting: String = "") throws(TransportError) {
        guard let pointer = SSL_CTX_new(method) else {
            throw TransportError(.tlsFailed, "cannot set up TLS: \(TLSError.takeText())", outlook: .passing)
        }
        self.pointer = pointer
        self.trust = trust
        trustSetting = setting
        SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // An attacker who records traffic and obtains the certificate's key later must not be able to read it.
        SSL_CTX_set_cipher_list(pointer, TLSContext.forwardSecretCiphers)
        let modes =
            SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
        SSL_CTX_ctrl(pointer, SSL_CTRL_MODE, Int(modes), nil)
        SSL_CTX_ctrl(pointer, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        SSL_CTX_set_options(pointer, TLSContext.noRenegotiation)
        // A key that needs a passphrase is an error, not a question on the terminal.
        SSL_CTX_set_default_passwd_cb(pointer) { _, _, _, _ in 0 }
    }

    deinit { SSL_CTX_free(pointer) }

    /// Key exchanges of TLS 1.2 that have forward secrecy; TLS 1.3 has no others.
    private static let forwardSecretCiphers = "ECDHE+HIGH:DHE+HIGH:!aNULL:!eNULL:!PSK:!SRP"

    /// SSL_OP_NO_RENEGOTIATION, a macro that Swift does not see.
    private static let noRenegotiation: UInt64 = 1 << 30

    /// - Throws: naming the file that cannot be used and why.
    convenience init(server: TLSServerConfiguration) throws(TransportError) {
        try self.init(TLS_server_method(), trust: nil)
        SSL_CTX_set_num_tickets(pointer, 0)
        let chain = server.certificateChainFile
        let key = server.privateKeyFile
        try TLSContext.checkReadable(chain, "certificate")
        guard SSL_CTX_use_certificate_chain_file(pointer, chain) == 1 else {
            if TLSError.isKeyTooSmall, let error = KeySize.error(chain, level: SSL_CTX_get_security_level(pointer)) {
                ERR_clear_error()
                throw error
            }
            throw TransportError(
                .certificateFile, "the certificate file \(chain) has no certificate in PEM form: \(TLSError.takeText())"
            )
        }
        try TLSContext.checkReadable(key, "private key")
        guard SSL_CTX_use_PrivateKey_file(pointer, key, SSL_FILETYPE_PEM) == 1 else {
            if TLSError.isKeyMismatch { throw TLSContext.mismatch(key, chain) }
            throw TransportError(
                .certificateFile,
                "the private key file \(key) has no unencrypted key in PEM form: \(TLSError.takeText())")
        }
        guard SSL_CTX_check_private_key(pointer) == 1 else { throw TLSContext.mismatch(key, chain) }
    }

    /// - Parameter setting: how whoever configures the client says which certificates it accepts, for messages.
    /// - Throws: naming the file that cannot be used and why.
    convenience init(trust: TLSTrust, setting: String) throws(TransportError) {
        try self.init(TLS_client_method(), trust: trust, setting: setting)
        if trust == .selfSignedOnly {
            SSL_CTX_set_verify(pointer, SSL_VERIFY_NONE, nil)
        } else {
            SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER) { isRight, chain in
                if isRight == 0, let chain { CertificateNames.noteCommonName(chain) }
                return isRight
            }
        }
        switch trust {
        case .systemAuthorities:
            guard SSL_CTX_set_default_verify_paths(pointer) == 1 else {
                throw TransportError(.certificateFile, "the system's certificate authorities cannot be read")
            }
        case .authorities(let files):
            guard !files.isEmpty else {
                throw TransportError(.invalidConfiguration, "no file of certificate authorities is given")
            }
            for file in files { try load(file) }
            // Whoever names an authority means it, whoever has signed it in turn.
            X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(pointer), UInt(X509_V_FLAG_PARTIAL_CHAIN))
        case .pinned(let file):
            try load(file)
            let parameters = SSL_CTX_get0_param(pointer)
            X509_VERIFY_PARAM_set_flags(
                parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN) | UInt(X509_V_FLAG_NO_CHECK_TIME))
        case .selfSignedOnly:
            break
        }
    }

    private func load(_ file: String) throws(TransportError) {
        try TLSContext.checkReadable(file, "certificate")
        guard SSL_CTX_load_verify_file(pointer, file) == 1 else {
            // Somebody may be writing it.
            throw TransportError(
                .certificateFile,
                "the certificate file \(file) has no certificate in PEM form: \(TLSError.takeText()) (\(trustSetting))",
                outlook: .unclear)
        }
    }

    private static func mismatch(_ key: String, _ chain: String) -> TransportError {
        ERR_clear_error()
        return TransportError(
            .certificateFile, "the private key in \(key) does not belong to the first certificate in \(chain)")
    }

    private static func checkReadable(_ file: String, _ kind: String) throws(TransportError) {
        guard let handle = fopen(file, "re") else {
            throw TransportError(
                .certificateFile, "the \(kind) file \(file) cannot be read: \(String(cString: strerror(errno)))",
                outlook: .unclear)
        }
        fclose(handle)
    }
}
