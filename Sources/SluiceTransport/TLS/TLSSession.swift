import COpenSSL
import Glibc

/// TLS over one non-blocking socket. Used on one thread at a time.
final class TLSSession {
    enum HandshakeResult {
        case done
        case wantsRead
        case wantsWrite
        case failed(TransportError)
    }

    private let session: OpaquePointer
    private let context: TLSContext
    private let host: String?
    private let peer: String
    /// Whether the last write waits until something is read, as during a key update. The next read clears this.
    private(set) var writeWantsRead = false
    /// Whether the last read waits until something is written.
    private(set) var readWantsWrite = false

    /// - Parameters:
    ///   - host: for a client, the name or address that the certificate must be valid for; nil for a server.
    ///   - peer: for messages.
    init(_ context: TLSContext, descriptor: Int32, host: String?, peer: String) throws(TransportError) {
        guard let session = SSL_new(context.pointer) else {
            throw TransportError(.tlsFailed, "cannot set up TLS: \(TLSError.takeText())", outlook: .passing)
        }
        self.session = session
        self.context = context
        self.host = host
        self.peer = peer
        guard SSL_set_fd(session, descriptor) == 1 else {
            throw TransportError(.tlsFailed, "cannot set up TLS: \(TLSError.takeText())", outlook: .passing)
        }
        guard let host else {
            SSL_set_accept_state(session)
            return
        }
        SSL_set_connect_state(session)
        let isAddress = TLSSession.isAddress(host)
        if !isAddress {
            // OpenSSL copies the name and does not write to it.
            _ = host.withCString {
                SSL_ctrl(
                    session, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name),
                    UnsafeMutableRawPointer(mutating: $0))
            }
        }
        switch context.trust {
        case .systemAuthorities, .authorities:
            SSL_set_hostflags(session, CertificateNames.rules)
            let isSet =
                isAddress
                ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) : SSL_set1_host(session, host)
            guard isSet == 1 else {
                throw TransportError(.invalidURL, "\"\(host)\" is not a host name that a certificate can have")
            }
        case .pinned, .selfSignedOnly, nil:
            break
        }
    }

    deinit { SSL_free(session) }

    private static func isAddress(_ host: String) -> Bool {
        var buffer = in6_addr()
        return inet_pton(AF_INET, host, &buffer) == 1 || inet_pton(AF_INET6, host, &buffer) == 1
    }

    func handshake() -> HandshakeResult {
        ERR_clear_error()
        errno = 0
        let result = SSL_do_handshake(session)
        let number = errno
        if result == 1 {
            if let error = selfSignedError() { return .failed(error) }
            return .done
        }
        switch SSL_get_error(session, result) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_SYSCALL where number != 0:
            ERR_clear_error()
            return .failed(.system(number, "complete the TLS handshake with \(peer)"))
        default:
            return .failed(
                TLSError.takeHandshakeError(
                    verification: SSL_get_verify_result(session), by: context, host: host, peer: peer))
        }
    }

    /// Checks what OpenSSL does not check with ``TLSTrust/selfSignedOnly``: that the certificate is self-signed. The
    /// handshake has proved that the server has the certificate's key.
    private func selfSignedError() -> TransportError? {
        guard context.trust == .selfSignedOnly, let host else { return nil }
        guard let certificate = SSL_get1_peer_certificate(session) else {
            return TransportError(.untrustedCertificate, "\(host) shows no certificate")
        }
        defer { X509_free(certificate) }
        guard X509_self_signed(certificate, 1) == 1 else {
            return TransportError(
                .untrustedCertificate,
                "the certificate of \(host) is not self-signed, and only self-signed ones are accepted")
        }
        return nil
    }

    /// Whether OpenSSL has read bytes from the socket that no `read` has returned.
    var hasPendingInput: Bool { SSL_has_pending(session) == 1 }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Socket.ReadResult {
        ERR_clear_error()
        readWantsWrite = false
        writeWantsRead = false
        var count = 0
        let result = SSL_read_ex(session, buffer.baseAddress, buffer.count, &count)
        if result == 1 { return .bytes(count) }
        switch SSL_get_error(session, result) {
        case SSL_ERROR_WANT_READ: return .wouldBlock
        case SSL_ERROR_WANT_WRITE:
            readWantsWrite = true
            return .wouldBlock
        case SSL_ERROR_ZERO_RETURN: return .end
        case SSL_ERROR_SYSCALL: return .failed(.system(errno == 0 ? ECONNRESET : errno, "receive from \(peer)"))
        default:
            if ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING {
                ERR_clear_error()
                return .end
            }
            return .failed(TLSError.takeError("receiving from \(peer) through TLS failed"))
        }
    }

    /// Writes one record from the head of the queue.
    ///
    /// - Parameter scratch: memory in which small messages are joined to one record.
    func write(_ queue: borrowing SendQueue, scratch: UnsafeMutableRawBufferPointer) -> Socket.WriteResult {
        let bytes = TLSSession.nextRecord(queue, scratch)
        ERR_clear_error()
        var count = 0
        let result = SSL_write_ex(session, bytes.baseAddress, bytes.count, &count)
        if result == 1 { return .bytes(count) }
        switch SSL_get_error(session, result) {
        case SSL_ERROR_WANT_WRITE: return .wouldBlock
        case SSL_ERROR_WANT_READ:
            writeWantsRead = true
            return .wouldBlock
        case SSL_ERROR_SYSCALL: return .failed(.system(errno == 0 ? EPIPE : errno, "send to \(peer)"))
        default: return .failed(TLSError.takeError("sending to \(peer) through TLS failed"))
        }
    }

    /// The bytes of the next record. The same head of a queue always gives the same bytes, or more of them, as OpenSSL
    /// demands when a write is tried again.
    private static func nextRecord(
        _ queue: borrowing SendQueue, _ scratch: UnsafeMutableRawBufferPointer
    ) -> UnsafeRawBufferPointer {
        let recordByteCount = 16_384
        let chunks = queue.prefix(256)
        if let first = chunks.first, chunks.count == 1 || first.bytes.count >= recordByteCount {
            return UnsafeRawBufferPointer(rebasing: first.bytes.prefix(recordByteCount))
        }
        var count = 0
        for chunk in chunks where count < recordByteCount {
            let piece = chunk.bytes.prefix(recordByteCount - count)
            UnsafeMutableRawBufferPointer(rebasing: scratch[count...]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: piece))
            count += piece.count
        }
        return UnsafeRawBufferPointer(rebasing: scratch[..<count])
    }

    /// Tells the peer that no more will be written.
    func endWriting() {
        ERR_clear_error()
        SSL_shutdown(session)
        ERR_clear_error()
    }
}
