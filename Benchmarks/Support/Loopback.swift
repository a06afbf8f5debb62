import CEpoll
import Glibc

/// Sockets of this machine, for what the benchmarks measure without our own transport.
enum Loopback {
    /// Connects to a port.
    ///
    /// - Parameter peer: who listens there, for the error.
    /// - Returns: the socket.
    static func connect(to port: UInt16, of peer: String) throws -> Int32 {
        let descriptor = socket()
        var target = address(port)
        let isConnected = withUnsafePointer(to: &target) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw BenchmarkError("connect to \(peer): \(reason)")
        }
        return descriptor
    }

    /// Listens at a port that the system chooses.
    ///
    /// - Parameter backlog: how many connections may wait to be accepted.
    static func listen(backlog: Int32) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket()
        var address = self.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && Glibc.listen(descriptor, backlog) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isListening else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw BenchmarkError("a socket cannot listen: \(reason)")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private static func socket() -> Int32 {
        Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        return address
    }
}
