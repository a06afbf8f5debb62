import Glibc

/// A socket on which Linux tells of the changes of addresses and routes (rtnetlink(7)), in the network namespace of the
/// thread that makes it.
final class NetlinkSocket: Sendable {
    // From <linux/netlink.h> and <linux/rtnetlink.h>.
    private static let groups: UInt32 = 0x10 | 0x40 | 0x100 | 0x400  // addresses and routes of IPv4 and IPv6
    private static let headerLength = 16
    private static let types: Set<UInt16> = [20, 21, 24, 25]  // RTM_NEWADDR, DELADDR, NEWROUTE, DELROUTE

    let descriptor: Int32

    /// - Throws: when the system has no such sockets, or refuses one.
    init() throws(TransportError) {
        descriptor = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw .system(errno, "watch the network") }
        // sockaddr_nl: family, padding, port (the kernel chooses), groups.
        var address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(AF_NETLINK), 0, 0, Self.groups)
        let length = socklen_t(MemoryLayout.size(ofValue: address))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0 else {
            let number = errno
            Glibc.close(descriptor)
            throw .system(number, "watch the network")
        }
    }

    deinit { Glibc.close(descriptor) }

    /// Reads everything that has arrived.
    ///
    /// - Returns: whether an address or a route has changed, or may have: the kernel says when it had to drop messages.
    func readChanges() -> Bool {
        var hasChanged = false
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 8)
        defer { buffer.deallocate() }
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count < 0 {
                if errno == EINTR { continue }
                return hasChanged || errno == ENOBUFS
            }
            if count == 0 { return hasChanged }
            if Self.hasChange(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { hasChanged = true }
        }
    }

    /// Whether one of the messages says that an address or a route has changed.
    static func hasChange(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        while position + headerLength <= bytes.count {
            let length = Int(bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            guard length >= headerLength else { return false }
            if types.contains(bytes.loadUnaligned(fromByteOffset: position + 4, as: UInt16.self)) { return true }
            // Messages begin at multiples of four bytes.
            position += (length + 3) & ~3
        }
        return false
    }
}
