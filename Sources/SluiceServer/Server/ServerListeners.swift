internal import SluiceModel
internal import SluiceTransport

/// The sockets at which a server listens: for stores and health, and, if it is to, for metrics.
struct ServerListeners: Sendable {
    let stores: WebSocketServer
    let metrics: WebSocketServer?
    /// The socket of the server's operator; nil for none.
    let admin: AdminDoor?
    private let group: EventLoopGroup

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - hooks: what is done with stores and with requests for health.
    ///   - text: the metrics as text.
    ///   - pages: what the admin socket answers; nil for no such socket.
    ///   - isFolderInPlace: whether the data folder is still the one that the server has locked.
    init(
        _ configuration: ServerConfiguration, hooks: ServerHooks, metrics text: @escaping @Sendable () async -> String,
        admin pages: AdminPages?, isFolderInPlace: @escaping @Sendable () -> Bool
    ) throws(TransportError) {
        var options = WebSocketServerOptions()
        options.connectionCountMax = configuration.connectionCountMax
        options.awaitsAdmission = true
        options.connection.subprotocols.append(HTTPRequest.jsonSubprotocol)
        options.connection.openTimeout = configuration.loginTimeout
        options.pendingConnectionCountMax = configuration.pendingConnectionCountMax
        options.pendingConnectionCountMaxPerAddress = configuration.pendingConnectionCountMaxPerAddress
        options.isLoopbackOnly = configuration.mustBePrivate
        options.tls = configuration.certificate.map {
            TLSServerConfiguration(certificateChainFile: $0.chainFile, privateKeyFile: $0.keyFile)
        }
        let group = try EventLoopGroup()
        self.group = group
        do throws(TransportError) {
            metrics =
                if let address = configuration.metricsListen {
                    try Self.listen(at: address, configuration, group, text)
                } else { nil }
            stores = try WebSocketServer.listen(
                host: configuration.host, port: configuration.port, options: options, group: group, hooks: hooks)
            admin = pages.flatMap { pages in
                configuration.dataFolder.map { folder in
                    AdminDoor(
                        inFolder: folder, pages, group: group, schedule: configuration.schedule,
                        log: configuration.log?.about(.network), isFolderInPlace: isFolderInPlace)
                }
            }
        } catch {
            group.stop()
            throw error
        }
    }

    private static func listen(
        at address: ServerConfiguration.Address, _ configuration: ServerConfiguration, _ group: EventLoopGroup,
        _ text: @escaping @Sendable () async -> String
    ) throws(TransportError) -> WebSocketServer {
        var routes = WebRoutes()
        MetricsPage(text: text, isLoopback: WebSocketServer.isLoopback(address.host)).add(to: &routes)
        var options = WebSocketServerOptions()
        options.isLoopbackOnly = configuration.isDevelopment
        return try WebSocketServer.listen(
            host: address.host, port: address.port, options: options, group: group,
            hooks: ServerHooks(
                accept: { _, _ in .reject(status: 404, text: "this listener has metrics, and no databases") },
                route: { [routes] request in routes.route(request) }))
    }

    /// Waits until each event loop has done what it had to do.
    func beat() async {
        for loop in group.loops {
            await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
        }
    }

    /// Ends all connections, and listens no more.
    func stop() async {
        await stores.stop()
        await metrics?.stop()
        await admin?.stop()
        group.stop()
    }
}
