import CEpoll
import Glibc

/// Sockets that are files, by which programs of one machine talk.
package enum LocalSocket {
    /// Gives the address of a socket in a folder whose path may have any length: the address leads through the folder's
    /// descriptor, since it has room for 107 bytes only (unix(7)).
    ///
    /// - Parameter body: gets the path of the socket, which leads there during the call only.
    static func with<Result>(
        _ folder: String, _ name: String,
        _ body: (_ path: String, _ address: SocketAddress) throws(TransportError) -> Result
    ) throws(TransportError) -> Result {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, "use the folder '\(folder)'") }
        defer { close(descriptor) }
        let path = "/proc/self/fd/\(descriptor)/\(name)"
        guard let address = SocketAddress(path: path) else {
            throw TransportError(.invalidConfiguration, "'\(name)' is no name of a socket")
        }
        return try body(path, address)
    }

    /// Connects to a socket in a folder, and waits until it is accepted.
    ///
    /// - Returns: a descriptor that blocks and that the caller closes.
    /// - Throws: when nobody listens there.
    package static func connect(inFolder folder: String, name: String) throws(TransportError) -> Int32 {
        try with(folder, name) { (_, address) throws(TransportError) in
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw .system(errno, "make a socket") }
            guard address.withPointer({ Glibc.connect(descriptor, $0, $1) }) == 0 else {
                let number = errno
                close(descriptor)
                throw .system(number, "connect to '\(folder)/\(name)'")
            }
            return descriptor
        }
    }
}
