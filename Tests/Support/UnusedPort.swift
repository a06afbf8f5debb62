import Glibc
import Synchronization

/// Ports of 127.0.0.1 for servers that stop and listen again: a port that the system has chosen can be another program's
/// as soon as its server has stopped.
package enum UnusedPort {
    private static let given = Mutex<Set<UInt16>>([])

    /// A port at which nobody listens, and that is given once in this process. It lies below the ports that the system
    /// chooses, which begin at 32768 (`net.ipv4.ip_local_port_range`), so the system gives it to nobody else.
    package static func next() throws -> UInt16 {
        for port in (UInt16(12_000)..<32_000).shuffled() where isFree(port) {
            if given.withLock({ $0.insert(port).inserted }) { return port }
        }
        throw Failure("no port is free")
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = Loopback.socket()
        defer { close(descriptor) }
        return Loopback.withAddress(port: port) { bind(descriptor, $0, $1) } == 0
    }
}
