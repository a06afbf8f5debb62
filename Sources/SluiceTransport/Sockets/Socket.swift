import CEpoll
import Glibc

/// System calls on stream sockets. Descriptors are non-blocking and not inherited by child processes.
enum Socket {
    enum ReadResult {
        case bytes(Int)
        case wouldBlock
        case end
        case failed(TransportError)
    }

    enum WriteResult {
        case bytes(Int)
        case wouldBlock
        case failed(TransportError)
    }

    static func make(family: Int32) -> Int32 {
        socket(
            family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    @discardableResult
    static func set(_ descriptor: Int32, level: Int32, option: Int32, _ value: Int32) -> Bool {
        var value = value
        return setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    static func close(_ descriptor: Int32) { Glibc.close(descriptor) }

    /// The user whose process made the other end of a socket of this machine; nil if the system does not say.
    static func peerUser(of descriptor: Int32) -> uid_t? {
        var credentials = peer_credentials()
        var length = socklen_t(MemoryLayout<peer_credentials>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
        return credentials.user
    }

    /// Has the kernel send small messages at once, without waiting for the acknowledgement of earlier ones.
    static func setNoDelay(_ descriptor: Int32) {
        set(descriptor, level: Int32(IPPROTO_TCP), option: TCP_NODELAY, 1)
    }

    /// Returns and clears the error of a finished asynchronous connect; 0 when it succeeded.
    static func takeError(_ descriptor: Int32) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &value, &length) == 0 else { return errno }
        return value
    }

    static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            case let number: return .failed(.system(number, "receive"))
            }
        }
    }

    static func write(_ descriptor: Int32, _ queue: borrowing SendQueue) -> WriteResult {
        let chunks = queue.prefix(64)
        // The usual case, a message to a peer that keeps up, costs the kernel less without a vector.
        if chunks.count == 1, let bytes = chunks.first?.bytes {
            return result(of: { Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) })
        }
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: chunks.count) { vectors in
            // The kernel only reads what it sends, though the structure is that of received bytes, too.
            for (index, chunk) in chunks.enumerated() {
                vectors[index] = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: chunk.bytes.baseAddress), iov_len: chunk.bytes.count)
            }
            var message = msghdr()
            message.msg_iov = vectors.baseAddress
            message.msg_iovlen = vectors.count
            return result(of: { sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)) })
        }
    }

    private static func result(of send: () -> Int) -> WriteResult {
        while true {
            let count = send()
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            case let number: return .failed(.system(number, "send"))
            }
        }
    }
}
