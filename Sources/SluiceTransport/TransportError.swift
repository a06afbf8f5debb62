/// An error of a connection, a listener or an attempt to connect.
package struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure; new kinds may be added.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
    }

    package var code: Code
    /// What was wrong, where, and what would be right; for people.
    package var message: String
    /// Whether trying again later, with nothing changed, may succeed.
    package var outlook: Outlook
    /// The WebSocket code that the peer sent, or that it was sent because of this error.
    package var closeCode: CloseCode?
    /// The status of the HTTP response that refused an upgrade.
    package var httpStatus: Int?
    /// How long the HTTP response that refused an upgrade asks to wait before the next attempt; nil if it does not.
    package var retryAfter: Duration?

    package init(
        _ code: Code, _ message: String, outlook: Outlook = .lasting, closeCode: CloseCode? = nil,
        httpStatus: Int? = nil, retryAfter: Duration? = nil
    ) {
        self.code = code
        self.message = message
        self.outlook = outlook
        self.closeCode = closeCode
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
    }

    package var description: String { "\(code.rawValue): \(message)" }

    static func violation(_ closeCode: CloseCode, _ message: String) -> TransportError {
        // What breaks the rules in an open connection may be of a proxy; what is too large is as large the next time.
        closeCode == .messageTooBig
            ? TransportError(.messageTooLarge, message, closeCode: closeCode)
            : TransportError(.protocolViolation, message, outlook: .unclear, closeCode: closeCode)
    }

    /// The peer closed with a code other than 1000.
    static func closed(by peer: String, _ code: CloseCode, reason: String) -> TransportError {
        TransportError(
            .closedByPeer, "\(peer) closed the connection with code \(code)\(reason.isEmpty ? "" : ": \(reason)")",
            outlook: code.outlook, closeCode: code)
    }
}

extension TransportError.Code {
    /// The URL of the server cannot be used.
    package static let invalidURL = Self(rawValue: "invalid-url")
    /// An option contradicts itself or names something that does not exist.
    package static let invalidConfiguration = Self(rawValue: "invalid-configuration")
    /// The host has no address.
    package static let nameResolutionFailed = Self(rawValue: "name-resolution-failed")
    /// Nobody listens at the address.
    package static let connectionRefused = Self(rawValue: "connection-refused")
    /// No route to the address.
    package static let unreachable = Self(rawValue: "unreachable")
    /// The connection was not ready in time.
    package static let timedOut = Self(rawValue: "timed-out")
    /// The connection broke without a closing handshake.
    package static let connectionLost = Self(rawValue: "connection-lost")
    /// The peer answered no ping and sent nothing else.
    package static let peerSilent = Self(rawValue: "peer-silent")
    /// The peer sent a closing handshake with a code other than 1000.
    package static let closedByPeer = Self(rawValue: "closed-by-peer")
    /// The owner aborted the connection or its event loop ended.
    package static let aborted = Self(rawValue: "aborted")
    /// The peer broke a rule of WebSocket or HTTP.
    package static let protocolViolation = Self(rawValue: "protocol-violation")
    /// A message over the size limit was refused.
    package static let messageTooLarge = Self(rawValue: "message-too-large")
    /// The server answered the upgrade with an HTTP status other than 101.
    package static let upgradeRefused = Self(rawValue: "upgrade-refused")
    /// The address to listen at is taken.
    package static let addressInUse = Self(rawValue: "address-in-use")
    /// This machine does not have the address to listen at.
    package static let addressUnavailable = Self(rawValue: "address-unavailable")
    /// The operating system does not permit the operation to this user.
    package static let permissionDenied = Self(rawValue: "permission-denied")
    /// Out of file descriptors, memory or connections.
    package static let resourcesExhausted = Self(rawValue: "resources-exhausted")
    /// A certificate or key file cannot be used.
    package static let certificateFile = Self(rawValue: "certificate-file")
    /// The server's certificate is not trusted.
    package static let untrustedCertificate = Self(rawValue: "untrusted-certificate")
    /// The server's certificate is for another host.
    package static let wrongHost = Self(rawValue: "wrong-host")
    /// The server's certificate has expired or is not valid yet.
    package static let certificateExpired = Self(rawValue: "certificate-expired")
    /// One side speaks TLS and the other does not.
    package static let tlsMismatch = Self(rawValue: "tls-mismatch")
    /// Any other failure of TLS.
    package static let tlsFailed = Self(rawValue: "tls-failed")
    /// An operating system call failed in a way that has no code of its own.
    package static let system = Self(rawValue: "system")
}
