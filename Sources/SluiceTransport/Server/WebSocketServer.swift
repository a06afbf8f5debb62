import Glibc
import Synchronization

/// How a server listens.
package struct WebSocketServerOptions: Hashable, Sendable {
    /// Limits and times.
    package var connection = WebSocketOptions(openTimeout: .seconds(10))
    /// The certificate to show; nil for connections without TLS.
    package var tls: TLSServerConfiguration?
    /// More connections are refused with status 503.
    package var connectionCountMax = 100_000
    /// Whether the owner says of each connection when its peer is known (``MessageConnection/admit()``). Until then the
    /// connection is pending: it has `connection.openTimeout`, counted from its beginning, and one of few places.
    /// Without it a connection is pending until the upgrade.
    package var awaitsAdmission = false
    /// The most connections that are pending at a time. A quarter is kept for addresses that have none.
    package var pendingConnectionCountMax = 1_024
    /// The most connections of one address (of IPv6: one network of 64 bits) that are pending at a time.
    package var pendingConnectionCountMaxPerAddress = 256
    /// The most connections that wait, unserved, until they may be pending. More are refused with status 503.
    package var waitingConnectionCountMax = 10_000
    /// A pending connection that has made no progress for so long gives its place to one that waits.
    package var patience = Duration.seconds(1)
    /// Whether to refuse to listen where other machines reach it, whatever a name turns out to mean.
    package var isLoopbackOnly = false

    package init() {}
}

/// A listening WebSocket server.
package final class WebSocketServer: Sendable {
    /// The port listened at: the one asked for, or the one found when that was 0.
    package let port: UInt16
    private let core: ServerCore
    private let loop: EventLoop
    private let listeners: [Listener]
    private let isStopped = Atomic<Bool>(false)

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - host: a name or an address; every address of a name is listened at. Empty or `*`: all of this machine's.
    ///   - port: 0 chooses a free port.
    ///   - group: serves the connections; each goes to the next loop.
    /// - Throws: when the address cannot be used, naming it, or a certificate file cannot.
    package static func listen(
        host: String, port: UInt16, options: WebSocketServerOptions = .init(), group: EventLoopGroup, hooks: ServerHooks
    ) throws(TransportError) -> WebSocketServer {
        let tls: TLSContext? = if let tls = options.tls { try TLSContext(server: tls) } else { nil }
        let loop = group.next()
        let core = ServerCore(hooks: hooks, tls: tls, options: options, loop: loop)
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
            let listener = try Listener(
                address, isDualStack: addresses.count == 1, loop: loop,
                didAccept: { socket, peer in core.accept(socket, from: peer, loop: group.next()) },
                didFail: { core.hooks.didRefuse("listener", $0) })
            listeners.append(listener)
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
        guard let first = listeners.first else {
            throw failure ?? TransportError(.addressUnavailable, "\"\(host)\" has no address to listen at")
        }
        let server = WebSocketServer(port: first.address.port, core: core, loop: loop, listeners: listeners)
        loop.execute { [listeners] in
            for listener in listeners { listener.start() }
        }
        return server
    }

    private init(port: UInt16, core: ServerCore, loop: EventLoop, listeners: [Listener]) {
        self.port = port
        self.core = core
        self.loop = loop
        self.listeners = listeners
    }

    /// Whether a host to listen at is a loopback address, or `localhost`. Looks nothing up.
    package static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        let addresses = try? SocketAddress.resolve(host, port: 0, isListening: true, numericOnly: true)
        return addresses?.allSatisfy(\.isLoopback) ?? false
    }

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
