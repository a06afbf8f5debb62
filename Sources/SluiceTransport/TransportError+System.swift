import Glibc

extension TransportError {
    /// The error for a failed system call.
    ///
    /// - Parameters:
    ///   - number: the value of `errno`.
    ///   - action: what was tried, with the address: "connect to 127.0.0.1:80".
    static func system(_ number: Int32, _ action: String) -> TransportError {
        let reason = String(cString: strerror(number))
        switch number {
        case ECONNREFUSED:
            return .init(.connectionRefused, "cannot \(action): nobody listens there", outlook: .passing)
        case ETIMEDOUT:
            return .init(.timedOut, "cannot \(action): no answer in time", outlook: .passing)
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN:
            return .init(.unreachable, "cannot \(action): \(reason)", outlook: .passing)
        case ECONNRESET, EPIPE, ECONNABORTED, ENOTCONN:
            return .init(.connectionLost, "cannot \(action): the peer reset the connection", outlook: .passing)
        case EADDRINUSE:
            return .init(.addressInUse, "cannot \(action): the address is in use by another program")
        case EADDRNOTAVAIL:
            return .init(
                .addressUnavailable, "cannot \(action): this machine does not have that address", outlook: .unclear)
        case EACCES, EPERM:
            return .init(.permissionDenied, "cannot \(action): permission denied", outlook: .unclear)
        case EMFILE, ENFILE, ENOBUFS, ENOMEM:
            return .init(.resourcesExhausted, "cannot \(action): \(reason)", outlook: .passing)
        default:
            return .init(.system, "cannot \(action): \(reason) (errno \(number))", outlook: .unclear)
        }
    }
}
