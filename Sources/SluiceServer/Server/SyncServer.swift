internal import SluiceModel
internal import SluiceTransport
internal import Synchronization

/// A sync server, which serves databases to the stores that connect to it.
public final class SyncServer: Sendable {
    private enum Listening {
        case no
        case sockets(WebSocketServer, EventLoopGroup)
        case loopback(LoopbackNetwork)
        case stopped
    }

    private let configuration: ServerConfiguration
    private let databases: DatabaseDirectory
    private let hub: ConnectionHub
    private let listening = Mutex(Listening.no)

    /// Prepares a server; ``start()`` makes it listen.
    ///
    /// - Throws: ``ServerError`` when the configuration is invalid, when the data folder cannot be created or written,
    ///   or when another server uses the folder.
    public init(_ configuration: ServerConfiguration) throws {
        guard configuration.isDevelopment else {
            throw ServerError(
                .invalidConfiguration,
                "no login method is configured: a server that is not for development must know its users")
        }
        if configuration.loopback == nil, !WebSocketServer.isLoopback(configuration.host) {
            throw ServerError(
                .invalidConfiguration,
                "a development server takes anybody, so it listens at loopback addresses only, not at '\(configuration.host)'"
            )
        }
        self.configuration = configuration
        let limits = DatabaseLimits()
        let opener = DatabaseOpener(
            folder: configuration.dataFolder, workerID: configuration.workerID, limits: limits,
            random: configuration.random, log: configuration.log)
        databases = try DatabaseDirectory(
            opener, idleTime: configuration.idleDatabaseTime, now: configuration.now)
        hub = ConnectionHub(
            databases: databases, login: DevelopmentLogin(), limits: limits.server,
            queueByteCountMax: configuration.queueByteCountMax, now: configuration.now, log: configuration.log)
    }

    /// Begins to listen.
    ///
    /// - Returns: the port; 0 for a network in memory.
    /// - Throws: ``ServerError`` when the address is in use or does not belong to this machine, when a certificate file
    ///   cannot be used, or when the server was started before.
    @discardableResult
    public func start() throws -> UInt16 {
        try listening.withLock { listening in
            guard case .no = listening else {
                throw ServerError(.invalidConfiguration, "a server is started once; make another to listen again")
            }
            databases.startSweeping()
            databases.startWatchingFiles()
            do {
                if let network = configuration.loopback {
                    try network.listen(configuration.host, hooks: hub.hooks)
                    listening = .loopback(network)
                    return 0
                }
                var options = WebSocketServerOptions()
                options.connectionCountMax = configuration.connectionCountMax
                options.awaitsAdmission = true
                options.connection.openTimeout = configuration.loginTimeout
                options.pendingConnectionCountMax = configuration.pendingConnectionCountMax
                options.pendingConnectionCountMaxPerAddress = configuration.pendingConnectionCountMaxPerAddress
                options.isLoopbackOnly = configuration.isDevelopment
                options.tls = configuration.certificate.map {
                    TLSServerConfiguration(certificateChainFile: $0.chainFile, privateKeyFile: $0.keyFile)
                }
                let group = try EventLoopGroup()
                let server = try WebSocketServer.listen(
                    host: configuration.host, port: configuration.port, options: options, group: group, hooks: hub.hooks
                )
                listening = .sockets(server, group)
                return server.port
            } catch let error as TransportError {
                let code: ServerError.Code = error.code == .certificateFile ? .certificate : .address
                throw ServerError(code, error.message, cause: error)
            }
        }
    }

    /// Ends every connection, finishes the transaction that is being stored, and closes the databases. A server cannot
    /// be started again.
    ///
    /// Uploads that wait to be stored are dropped. None of them is acknowledged, so the clients upload them again to
    /// the next server.
    public func stop() async {
        let was = listening.withLock { listening in
            defer { listening = .stopped }
            return listening
        }
        switch was {
        case .no, .stopped: break
        case .loopback(let network):
            network.stopListening(configuration.host)
        case .sockets(let server, let group):
            await server.stop()
            group.stop()
        }
        databases.stop()
    }

    /// Closes the databases that have been unused for a while. This otherwise happens every 15 seconds.
    package func closeIdleDatabases() async {
        await withCheckedContinuation { continuation in databases.sweep { continuation.resume() } }
    }

    /// The number of open databases. It waits for the work that they have.
    package var openDatabaseCount: Int { databases.openCount }

    /// The number of open connections.
    public var connectionCount: Int { hub.connectionCount }
}
