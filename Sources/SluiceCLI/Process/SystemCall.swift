internal import Glibc

/// Helpers for system calls.
enum SystemCall {
    /// The system's message for an error code, in lower case like other diagnostics.
    static func reason(for code: Int32) -> String {
        switch code {
        case ENOENT: "no such file or directory"
        case EBADF: "it is closed"
        case EACCES: "permission denied"
        case EISDIR: "it is a directory"
        case ENOSPC: "no space left on the device"
        default: String(cString: strerror(code)).lowercased()
        }
    }

    /// Writes all of `bytes`, and waits if the descriptor is non-blocking and not ready.
    ///
    /// - Returns: 0, or the error code.
    static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&request, 1, -1)
            case let code: return code
            }
        }
        return 0
    }
}
