import Glibc

/// Reads and writes one connected socket, through TLS or not, and knows what the socket is waited for.
struct SocketChannel: ~Copyable {
    private let descriptor: Int32
    private let loop: EventLoop
    private var tls: TLSSession?
    /// What epoll watches the socket for.
    private var interest: Readiness
    /// The kernel accepts no more bytes until epoll reports the socket as writable.
    private(set) var isWriteBlocked = false

    /// Takes the descriptor over. TLS, if any, is yet to be negotiated.
    init(
        _ descriptor: Int32, tls: TLSSession?, loop: EventLoop, handler: PollHandler
    ) throws(TransportError) {
        self.descriptor = descriptor
        self.loop = loop
        self.tls = tls
        interest = .read
        try loop.register(descriptor, .read, handler)
    }

    /// Closes the socket.
    consuming func close() {
        loop.deregister(descriptor)
        // Frees the session while its descriptor is still its own.
        tls = nil
        Glibc.close(descriptor)
    }

    /// Goes on with negotiating TLS.
    mutating func handshake() -> TLSSession.HandshakeResult {
        guard let tls else { return .done }
        let result = tls.handshake()
        switch result {
        case .wantsRead: watch(.read)
        case .wantsWrite: watch(.write)
        case .done, .failed: watch(.read)
        }
        return result
    }

    /// Goes on without TLS, to tell a peer that does not speak it.
    mutating func dropTLS() { tls = nil }

    func read(into room: UnsafeMutableRawBufferPointer) -> Socket.ReadResult {
        tls?.read(into: room) ?? Socket.read(descriptor, into: room)
    }

    /// Whether a read of less than was asked for says that nothing is left.
    var shortReadMeansEmpty: Bool { tls == nil }

    /// Whether OpenSSL holds bytes that epoll knows nothing of.
    var hasHiddenInput: Bool { tls?.hasPendingInput ?? false }

    /// Writes from the head of the queue until it is empty or the kernel takes no more.
    ///
    /// - Returns: how many bytes were written.
    mutating func write(_ queue: inout SendQueue) throws(TransportError) -> Int {
        isWriteBlocked = false
        var written = 0
        while !queue.isEmpty {
            switch tls?.write(queue, scratch: loop.scratch) ?? Socket.write(descriptor, queue) {
            case .bytes(let count):
                queue.consume(count)
                written += count
            case .wouldBlock:
                isWriteBlocked = true
                return written
            case .failed(let error):
                throw error
            }
        }
        return written
    }

    /// Whether a blocked write goes on once the socket can be read.
    var writeWantsRead: Bool { tls?.writeWantsRead ?? false }

    /// Whether a blocked read goes on once the socket can be written.
    var readWantsWrite: Bool { tls?.readWantsWrite ?? false }

    /// Tells the peer that no more will be written.
    func endWriting() {
        tls?.endWriting()
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Has epoll watch for what matters now.
    ///
    /// - Parameter reads: whether bytes are wanted.
    mutating func watch(reads: Bool) {
        var wanted: Readiness = reads || writeWantsRead ? .read : []
        if isWriteBlocked || readWantsWrite { wanted.insert(.write) }
        watch(wanted)
    }

    private mutating func watch(_ wanted: Readiness) {
        guard wanted != interest else { return }
        interest = wanted
        loop.change(descriptor, wanted)
    }

    /// Why the socket failed while nothing was read from it.
    func takeError(peer: String) -> TransportError {
        let number = Socket.takeError(descriptor)
        return .system(number == 0 ? ECONNRESET : number, "receive from \(peer)")
    }
}
