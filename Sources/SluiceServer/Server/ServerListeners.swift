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
        let options = Self.options(configuration)
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

    /// Checks that a server could listen, before anything is made for it. Which addresses it may have is not looked at.
    fileprivate static func check(_ configuration: ServerConfiguration) throws(TransportError) {
        if let address = configuration.metricsListen {
            try WebSocketServer.check(host: address.host, port: address.port)
        }
        var options = options(configuration)
        options.isLoopbackOnly = false
        try WebSocketServer.check(host: configuration.host, port: configuration.port, options: options)
    }

    private static func options(_ configuration: ServerConfiguration) -> WebSocketServerOptions {
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
        return options
    }

    private static func metricsOptions(_ configuration: ServerConfiguration) -> WebSocketServerOptions {
        var options = WebSocketServerOptions()
        options.isLoopbackOnly = configuration.isDevelopment
        return options
    }

    private static func listen(
        at address: ServerConfiguration.Address, _ configuration: ServerConfiguration, _ group: EventLoopGroup,
        _ text: @escaping @Sendable () async -> String
    ) throws(TransportError) -> WebSocketServer {
        var routes = WebRoutes()
        MetricsPage(text: text, isLoopback: WebSocketServer.isLoopback(address.host)).add(to: &routes)
        return try WebSocketServer.listen(
            host: address.host, port: address.port, options: metricsOptions(configuration), group: group,
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

extension SyncServer {
    /// Checks that a server could listen where it is to make its data folder: a start that fails leaves none behind.
    ///
    /// - Throws: ``ServerError`` as ``start()``.
    package static func checkListening(_ configuration: ServerConfiguration) throws(ServerError) {
        guard configuration.loopback == nil, let folder = configuration.dataFolder, !DataFolder.isThere(folder)
        else { return }
        do { try ServerListeners.check(configuration) } catch { throw ServerError(listening: error) }
    }
}

extension ServerError {
    /// Why a server cannot listen.
    init(listening error: TransportError) {
        self.init(error.code == .certificateFile ? .certificate : .address, error.message, cause: error)
    }
}
