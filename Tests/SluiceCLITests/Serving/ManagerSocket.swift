import Glibc
import TestSupport

/// A socket of a service manager, and what it has been told.
final class ManagerSocket: Sendable {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

    /// - Parameter address: a path, or a name that begins with `@`.
    init(_ address: String) throws {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        let isAbstract = bytes[0] == UInt8(ascii: "@")
        if isAbstract { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(2 + bytes.count + (isAbstract ? 0 : 1))
        let isBound = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        guard isBound else { throw Failure("no socket: \(errno)") }
    }

    deinit { close(descriptor) }

    /// The next datagram; empty if none has been sent.
    func next() -> String {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }
}
