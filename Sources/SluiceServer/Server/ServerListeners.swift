internal import SluiceModel
internal import SluiceTransport

/// The sockets at which a server listens: for stores and health, and, if it is to, for metrics.
struct ServerListeners: Sendable {
    let stores: WebSocketServer
    let metrics: WebSocketServer?
    private let group: EventLoopGroup

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - hooks: what is done with stores and with requests for health.
    ///   - text: the metrics as text.
    init(
        _ configuration: ServerConfiguration, hooks: ServerHooks, metrics text: @escaping @Sendable () async -> String
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
        group = try EventLoopGroup()
        do throws(TransportError) {
            metrics =
                if let address = configuration.metricsListen {
                    try Self.listen(at: address, configuration, group, text)
                } else { nil }
            stores = try WebSocketServer.listen(
                host: configuration.host, port: configuration.port, options: options, group: group, hooks: hooks)
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

    /// Ends all connections, and listens no more.
    func stop() async {
        await stores.stop()
        await metrics?.stop()
        group.stop()
    }
}
