import Glibc

/// Tries several addresses one after another and connects to the first that answers.
final class TCPConnector: PollHandler, @unchecked Sendable {  // Kept to the loop's thread.
    private let loop: EventLoop
    private let addresses: [SocketAddress]
    private let interface: String?
    private var completion: ((Result<Int32, TransportError>) -> Void)?
    private var index = -1
    private var descriptor: Int32 = -1
    private var timer: UInt64?
    private var lastError = TransportError(.nameResolutionFailed, "the host has no address", outlook: .passing)

    /// How long an address may take while there are others.
    private static let attemptTime = Duration.seconds(5)

    /// - Parameters:
    ///   - interface: the network interface to go through; nil leaves it to the system.
    ///   - completion: called once on the loop with a connected socket, unless cancelled.
    init(
        _ addresses: [SocketAddress], interface: String?, loop: EventLoop,
        completion: @escaping (Result<Int32, TransportError>) -> Void
    ) {
        self.addresses = addresses
        self.interface = interface
        self.loop = loop
        self.completion = completion
    }

    func start() { tryNext() }

    func cancel() {
        completion = nil
        closeSocket()
    }

    override func loopWillStop() { finish(.failure(TransportError(.aborted, "the event loop ended"))) }

    private func tryNext() {
        closeSocket()
        index += 1
        guard index < addresses.count else { return finish(.failure(lastError)) }
        do throws(TransportError) {
            try connect(addresses[index])
        } catch {
            lastError = error
            tryNext()
        }
    }

    private func connect(_ address: SocketAddress) throws(TransportError) {
        let action = "connect to \(address.text)"
        descriptor = Socket.make(family: address.family)
        guard descriptor >= 0 else { throw .system(errno, action) }
        if let interface { try bind(to: interface) }
        let result = address.withPointer { Glibc.connect(descriptor, $0, $1) }
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else { throw .system(errno, action) }
        do throws(TransportError) {
            try loop.register(descriptor, .write, self)
        } catch {
            Glibc.close(descriptor)
            descriptor = -1
            throw error
        }
        guard index + 1 < addresses.count else { return }
        timer = loop.schedule(after: TCPConnector.attemptTime) { [weak self] in
            self?.timer = nil
            self?.lastError = .system(ETIMEDOUT, action)
            self?.tryNext()
        }
    }

    private func bind(to interface: String) throws(TransportError) {
        let length = socklen_t(interface.utf8.count)
        guard setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, interface, length) == 0 else {
            let number = errno
            Glibc.close(descriptor)
            descriptor = -1
            guard number != ENODEV else {
                throw TransportError(
                    .invalidConfiguration, "there is no network interface \"\(interface)\"", outlook: .unclear)
            }
            throw .system(number, "use the network interface \"\(interface)\"")
        }
    }

    override func ready(_ readiness: PollEvents) {
        let number = Socket.takeError(descriptor)
        guard number == 0 else {
            lastError = .system(number, "connect to \(addresses[index].text)")
            return tryNext()
        }
        let socket = descriptor
        loop.deregister(socket)
        descriptor = -1
        finish(.success(socket))
    }

    private func finish(_ result: Result<Int32, TransportError>) {
        closeSocket()
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    private func closeSocket() {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard descriptor >= 0 else { return }
        loop.deregister(descriptor)
        Glibc.close(descriptor)
        descriptor = -1
    }
}
