package import Glibc

/// Sockets of this machine for tests and benchmarks that do not go through our own transport. No program that is started
/// later has them.
package enum Loopback {
    package static func socket() -> Int32 {
        Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    /// Connects to a port.
    ///
    /// - Parameter peer: who listens there, for the error.
    /// - Returns: the socket.
    package static func connect(to port: UInt16, of peer: String) throws -> Int32 {
        let descriptor = socket()
        guard withAddress(port: port, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw Failure("connect to \(peer): \(reason)")
        }
        return descriptor
    }

    /// Listens at a port that the system chooses.
    ///
    /// - Parameter backlog: how many connections may wait to be accepted.
    package static func listen(backlog: Int32) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket()
        var chosen = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening =
            withAddress(port: 0) { bind(descriptor, $0, $1) } == 0 && Glibc.listen(descriptor, backlog) == 0
            && withUnsafeMutablePointer(to: &chosen) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            } == 0
        guard isListening else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw Failure("a socket cannot listen: \(reason)")
        }
        return (descriptor, UInt16(bigEndian: chosen.sin_port))
    }

    /// Calls `body` with an address of this machine.
    ///
    /// - Parameter host: the end of the address, which begins with 127.0.0.
    package static func withAddress<Result>(
        port: UInt16, host: UInt32 = 1, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (UInt32(0x7F00_0000) + host).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
