import Glibc
import Synchronization

/// The limits of a server and the certificate that it shows.
package struct WebSocketServerOptions: Hashable, Sendable {
    /// Limits and times.
    package var connection = WebSocketOptions(openTimeout: .seconds(10))
    /// The certificate; nil for connections without TLS.
    package var tls: TLSServerConfiguration?
    /// The most connections that are open at a time. More are refused with status 503.
    package var connectionCountMax = 100_000
    /// The most requests that are answered at a time, besides those that are answered at once. More are refused with
    /// status 503.
    package var answerCountMax = 1_024
    /// Whether the owner calls ``MessageConnection/admit()`` once it knows the peer of a connection. Until then the
    /// connection is pending: it has `connection.openTimeout`, counted from its beginning, and one of few places. If
    /// false, a connection is pending only until the upgrade.
    package var awaitsAdmission = false
    /// The most connections that are pending at a time. A quarter is kept for addresses that have none.
    package var pendingConnectionCountMax = 1_024
    /// The most connections of one address (with IPv6, of one /64 network) that are pending at a time.
    package var pendingConnectionCountMaxPerAddress = 256
    /// The most connections that wait, unserved, for a place among the pending ones. More are refused with status 503.
    package var waitingConnectionCountMax = 10_000
    /// How long a pending connection may make no progress before it loses its place to one that waits.
    package var patience = Duration.seconds(1)
    /// Whether to refuse to listen at an address that other machines can reach, whatever a host name resolves to.
    package var isLoopbackOnly = false

    package init() {}
}

/// Listens for WebSocket connections and serves them.
package final class WebSocketServer: Sendable {
    /// The port that the server listens at: the one asked for or, if that was 0, a free one.
    package let port: UInt16
    private let core: ServerCore
    private let loop: EventLoop
    private let listeners: [Listener]
    private let isStopped = Atomic<Bool>(false)

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - host: a name or an address; the server listens at every address of a name. Empty or `*` means all addresses
    ///     of this machine.
    ///   - port: 0 chooses a free port.
    ///   - group: serves the connections, which its loops get in rotation.
    /// - Throws: when an address or a certificate file cannot be used; the message names it.
    package static func listen(
        host: String, port: UInt16, options: WebSocketServerOptions = .init(), group: EventLoopGroup, hooks: ServerHooks
    ) throws(TransportError) -> WebSocketServer {
        let tls: TLSContext? = if let tls = options.tls { try TLSContext(server: tls) } else { nil }
        let loop = group.next()
        let core = ServerCore(hooks: hooks, tls: tls, options: options, loop: loop)
        let listeners = try listeners(host, port, options) { (address, isDualStack) throws(TransportError) in
            try Listener(
                address, isDualStack: isDualStack, loop: loop,
                didAccept: { socket, peer in core.accept(socket, from: peer, loop: group.next()) },
                didFail: { core.hooks.didRefuse("listener", $0) })
        }
        let server = WebSocketServer(port: listeners[0].address.port, core: core, loop: loop, listeners: listeners)
        loop.execute { [listeners] in
            for listener in listeners { listener.start() }
        }
        return server
    }

    /// Listens at a socket that is a file, for programs of this machine that the same user runs, or root. Others are sent
    /// away, whatever the file's mode. The file is made anew; it has mode 0600.
    ///
    /// - Parameters:
    ///   - folder: the folder of the file, of any length. Nobody else may listen there.
    ///   - name: the file's name.
    ///   - group: serves the connections.
    ///   - hooks: what is done with requests.
    /// - Throws: when the file cannot be made; the message names it.
    package static func listen(
        inFolder folder: String, name: String, options: WebSocketServerOptions = .init(), group: EventLoopGroup,
        hooks: ServerHooks
    ) throws(TransportError) -> WebSocketServer {
        let loop = group.next()
        let core = ServerCore(hooks: hooks, tls: nil, options: options, loop: loop)
        let listener = try LocalSocket.with(folder, name) { (path, address) throws(TransportError) in
            unlink(path)
            let listener = try Listener(
                address, isDualStack: false, loop: loop,
                didAccept: { socket, peer in
                    guard let user = Socket.peerUser(of: socket), user == geteuid() || user == 0 else {
                        return Socket.close(socket)
                    }
                    core.accept(socket, from: peer, of: user, loop: group.next())
                }, didFail: { core.hooks.didRefuse("listener", $0) })
            guard chmod(path, 0o600) == 0 else {
                throw TransportError.system(errno, "keep other users from '\(folder)/\(name)'")
            }
            return listener
        }
        loop.execute { listener.start() }
        return WebSocketServer(port: 0, core: core, loop: loop, listeners: [listener])
    }

    /// Checks that a server could listen, before anything else is made for one: its address and its certificate.
    ///
    /// - Throws: what ``listen(host:port:options:group:hooks:)`` would.
    package static func check(
        host: String, port: UInt16, options: WebSocketServerOptions = .init()
    ) throws(TransportError) {
        if let tls = options.tls { _ = try TLSContext(server: tls) }
        let group = try EventLoopGroup()
        defer { group.stop() }
        // They end at once, and accept nothing.
        _ = try listeners(host, port, options) { (address, isDualStack) throws(TransportError) in
            try Listener(
                address, isDualStack: isDualStack, loop: group.next(), didAccept: { _, _ in }, didFail: { _ in })
        }
    }

    /// Binds the sockets for a host: at least one.
    private static func listeners(
        _ host: String, _ port: UInt16, _ options: WebSocketServerOptions,
        _ make: (SocketAddress, _ isDualStack: Bool) throws(TransportError) -> Listener
    ) throws(TransportError) -> [Listener] {
        let isAny = host.isEmpty || host == "*"
        let addresses = try SocketAddress.resolve(isAny ? "::" : host, port: port, isListening: true)
        if options.isLoopbackOnly, let other = addresses.first(where: { !$0.isLoopback }) {
            throw TransportError(
                .invalidConfiguration,
                "cannot listen at \(host): \(other.text) is no loopback address, and no other is allowed")
        }
        var listeners: [Listener] = []
        var failure: TransportError?
        func listen(at address: SocketAddress) throws(TransportError) {
            var address = address
            if let first = listeners.first { address.port = first.address.port }
            listeners.append(try make(address, addresses.count == 1))
        }
        for address in addresses {
            do throws(TransportError) { try listen(at: address) } catch {
                // A machine without IPv6 may still have an IPv6 address for "localhost".
                guard error.code == .addressUnavailable || error.code == .system else { throw error }
                failure = error
            }
        }
        if isAny, listeners.isEmpty {
            for address in try SocketAddress.resolve("0.0.0.0", port: port, isListening: true) {
                try listen(at: address)
            }
        }
        guard !listeners.isEmpty else {
            throw failure ?? TransportError(.addressUnavailable, "\"\(host)\" has no address to listen at")
        }
        return listeners
    }

    private init(port: UInt16, core: ServerCore, loop: EventLoop, listeners: [Listener]) {
        self.port = port
        self.core = core
        self.loop = loop
        self.listeners = listeners
    }

    /// Whether a host to listen at is `localhost` or a loopback address. Looks up no names.
    package static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        let addresses = try? SocketAddress.resolve(host, port: 0, isListening: true, numericOnly: true)
        return addresses?.allSatisfy(\.isLoopback) ?? false
    }

    /// Reads a certificate and shows it to connections from now on. Those that are open keep theirs.
    ///
    /// - Throws: when a file cannot be used, which the message names; the server goes on with what it had.
    package func reload(_ tls: TLSServerConfiguration) throws(TransportError) { core.show(try TLSContext(server: tls)) }

    /// The connections that are open.
    package var connectionCount: Int { core.connectionCount }

    /// Stops listening, closes all connections with code 1001 after what is queued has been sent, and waits for that.
    /// The group must still be running.
    ///
    /// - Parameter grace: connections that take longer are aborted.
    package func stop(grace: Duration = .seconds(5)) async {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        let loop = self.loop
        let listeners = self.listeners
        let core = self.core
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                for listener in listeners { listener.stop() }
                let timer = loop.schedule(after: grace) { core.abortAll() }
                core.closeAll {
                    loop.execute { loop.cancel(timer) }
                    continuation.resume()
                }
            }
        }
    }
}
