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
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(UInt32(0x7F00_0001).bigEndian)
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
