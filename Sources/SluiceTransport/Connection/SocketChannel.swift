import Glibc

/// Reads and writes one connected socket, with or without TLS, and has epoll watch it for what is needed next.
struct SocketChannel: ~Copyable {
    private let descriptor: Int32
    private let loop: EventLoop
    private var tls: TLSSession?
    /// What epoll watches the socket for.
    private var interest: PollEvents
    /// Whether the kernel accepts no more bytes until epoll reports the socket as writable.
    private(set) var isWriteBlocked = false

    /// Takes ownership of the descriptor, unless it throws. TLS, if any, is not negotiated yet.
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
        // The session uses the descriptor, so it is freed first.
        tls = nil
        Glibc.close(descriptor)
    }

    /// Continues the TLS handshake.
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

    /// Continues without TLS, so that a peer that does not speak TLS can be told so.
    mutating func dropTLS() { tls = nil }

    func read(into room: UnsafeMutableRawBufferPointer) -> Socket.ReadResult {
        tls?.read(into: room) ?? Socket.read(descriptor, into: room)
    }

    /// Whether a read that returns fewer bytes than there is room for means that the socket is empty.
    var shortReadMeansEmpty: Bool { tls == nil }

    /// Whether any thread may write to it: OpenSSL raises SIGPIPE, which is blocked on the threads of event loops alone.
    var canBeWrittenAnywhere: Bool { tls == nil }

    /// Whether OpenSSL holds bytes that epoll does not report.
    var hasHiddenInput: Bool { tls?.hasPendingInput ?? false }

    /// Writes from the head of the queue until it is empty or the kernel accepts no more.
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

    /// Whether a blocked write can continue once the socket is readable.
    var writeWantsRead: Bool { tls?.writeWantsRead ?? false }

    /// Whether a blocked read can continue once the socket is writable.
    var readWantsWrite: Bool { tls?.readWantsWrite ?? false }

    /// Tells the peer that no more will be written.
    func endWriting() {
        tls?.endWriting()
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Has epoll watch the socket for what is needed now.
    ///
    /// - Parameter reads: whether the connection wants bytes.
    mutating func watch(reads: Bool) {
        var wanted: PollEvents = reads || writeWantsRead ? .read : []
        if isWriteBlocked || readWantsWrite { wanted.insert(.write) }
        watch(wanted)
    }

    private mutating func watch(_ wanted: PollEvents) {
        guard wanted != interest else { return }
        interest = wanted
        loop.change(descriptor, wanted)
    }

    /// The error of a socket that failed while nothing was read from it.
    func takeError(peer: String) -> TransportError {
        let number = Socket.takeError(descriptor)
        return .system(number == 0 ? ECONNRESET : number, "receive from \(peer)")
    }
}
