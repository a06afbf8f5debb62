import CEpoll
import Glibc

/// Accepts connections at one address.
final class Listener: PollHandler, @unchecked Sendable {  // Kept to the loop's thread after `init`.
    private let loop: EventLoop
    private var descriptor: Int32
    private var isListening = false
    private let didAccept: (Int32, SocketAddress) -> Void
    private let didFail: (TransportError) -> Void
    let address: SocketAddress

    /// How long to accept no connections after file descriptors or memory ran out.
    private static let exhaustionPause = Duration.milliseconds(100)

    /// Binds and listens; accepts nothing before ``start()``.
    ///
    /// - Parameters:
    ///   - isDualStack: whether an IPv6 socket accepts IPv4 connections too.
    ///   - didAccept: called on the loop with a new socket, which the closure then owns.
    init(
        _ address: SocketAddress, isDualStack: Bool, loop: EventLoop,
        didAccept: @escaping (Int32, SocketAddress) -> Void, didFail: @escaping (TransportError) -> Void
    ) throws(TransportError) {
        let action = "listen at \(address.text)"
        let descriptor = Socket.make(family: address.family)
        guard descriptor >= 0 else { throw .system(errno, action) }
        Socket.set(descriptor, level: SOL_SOCKET, option: SO_REUSEADDR, 1)
        if address.family == AF_INET6 {
            Socket.set(descriptor, level: Int32(IPPROTO_IPV6), option: IPV6_V6ONLY, isDualStack ? 0 : 1)
        }
        guard address.withPointer({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, 4_096) == 0 else {
            let number = errno
            Glibc.close(descriptor)
            var error = TransportError.system(number, action)
            if error.code == .permissionDenied, address.family != AF_UNIX, (1..<1_024).contains(address.port) {
                error.message += " (ports below 1024 need a privilege; another port would do)"
            }
            throw error
        }
        var bound = SocketAddress()
        _ = bound.withMutablePointer { getsockname(descriptor, $0, $1) }
        self.address = bound
        self.descriptor = descriptor
        self.loop = loop
        self.didAccept = didAccept
        self.didFail = didFail
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Begins to accept connections. Call it on the loop's thread.
    func start() {
        guard !isListening, descriptor >= 0 else { return }
        do throws(TransportError) {
            try loop.register(descriptor, .read, self)
            isListening = true
        } catch {
            didFail(error)
        }
    }

    /// Stops accepting connections. Call it on the loop's thread.
    func stop() {
        guard descriptor >= 0 else { return }
        if isListening { loop.deregister(descriptor) }
        isListening = false
        Glibc.close(descriptor)
        descriptor = -1
    }

    override func loopWillStop() { stop() }

    override func ready(_ readiness: PollEvents) {
        for _ in 0..<64 {
            var peer = SocketAddress()
            let socket = peer.withMutablePointer {
                accept4(descriptor, $0, $1, Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue))
            }
            guard socket < 0 else {
                didAccept(socket, peer)
                continue
            }
            switch errno {
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                didFail(.system(errno, "accept a connection"))
                return pause()
            case EAGAIN:
                return
            default:
                continue
            }
        }
    }

    /// Stops accepting for a while, because a connection that cannot be accepted would wake the loop again at once.
    private func pause() {
        loop.change(descriptor, [])
        _ = loop.schedule(after: Listener.exhaustionPause) { [weak self] in
            guard let self, isListening else { return }
            loop.change(descriptor, .read)
        }
    }
}
