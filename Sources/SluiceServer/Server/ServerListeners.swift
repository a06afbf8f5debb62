internal import Glibc
internal import SluiceModel
internal import SluiceTransport

/// The sockets at which a server listens: for stores and health, and, if it is to, for metrics.
struct ServerListeners: Sendable {
    let stores: WebSocketServer
    let metrics: WebSocketServer?
    /// The socket of the server's operator; nil for none.
    let admin: WebSocketServer?
    private let group: EventLoopGroup
    /// Where the admin socket is.
    private let folder: String?

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - hooks: what is done with stores and with requests for health.
    ///   - text: the metrics as text.
    ///   - admin: what the admin socket answers; nil for no such socket.
    init(
        _ configuration: ServerConfiguration, hooks: ServerHooks, metrics text: @escaping @Sendable () async -> String,
        admin pages: AdminPages?
    ) throws(TransportError) {
        var options = WebSocketServerOptions()
        options.connectionCountMax = configuration.connectionCountMax
        options.awaitsAdmission = true
        options.connection.openTimeout = configuration.loginTimeout
        options.pendingConnectionCountMax = configuration.pendingConnectionCountMax
        options.pendingConnectionCountMaxPerAddress = configuration.pendingConnectionCountMaxPerAddress
        options.isLoopbackOnly = configuration.mustBePrivate
        options.tls = configuration.certificate.map {
            TLSServerConfiguration(certificateChainFile: $0.chainFile, privateKeyFile: $0.keyFile)
        }
        let group = try EventLoopGroup()
        self.group = group
        folder = configuration.dataFolder
        do throws(TransportError) {
            metrics =
                if let address = configuration.metricsListen {
                    try Self.listen(at: address, configuration, group, text)
                } else { nil }
            stores = try WebSocketServer.listen(
                host: configuration.host, port: configuration.port, options: options, group: group, hooks: hooks)
            admin = pages.flatMap { Self.listen(for: $0, configuration, group) }
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

    /// Listens for the operator. Where the socket cannot be made, such as on a full disk, the server goes on without.
    private static func listen(
        for pages: AdminPages, _ configuration: ServerConfiguration, _ group: EventLoopGroup
    ) -> WebSocketServer? {
        guard let folder = configuration.dataFolder else { return nil }
        var routes = WebRoutes()
        pages.add(to: &routes)
        do {
            return try WebSocketServer.listen(
                inFolder: folder, name: AdminSocket.name, group: group,
                hooks: ServerHooks(
                    accept: { _, _ in .reject(status: 404, text: "this socket is the operator's, and has no databases")
                    },
                    route: { [routes] request in routes.route(request) }))
        } catch {
            configuration.log?.about(.network)(
                .warning, "there is no admin socket", [("reason", error.message)])
            return nil
        }
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
        if let admin, let folder {
            await admin.stop()
            // Nobody else listens there, since the folder is the server's.
            unlink("\(folder)/\(AdminSocket.name)")
        }
        group.stop()
    }
}
