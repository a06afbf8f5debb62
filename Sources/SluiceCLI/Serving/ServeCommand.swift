internal import Sluice
internal import SluiceServer

/// `sluice serve`: runs the server.
struct ServeCommand: Command {
    static let description = CommandDescription(
        "serve", "Run the server, with its databases in a folder.",
        options: ServeSettings.options + SettingSources.options, takesSettings: true,
        notes: [
            "Once the server listens, a line on stdout says where. SIGTERM and SIGINT stop it in order, with exit code 0; a second one ends it at once. SIGHUP has it read settings, rules and certificate again, and begin with another file of the audit log; connections stay.",
            "Each option may also be in the environment, as SLUICE_LOG_LEVEL for --log-level, and in the file that --config or SLUICE_CONFIG names, as 'log-level = debug'. The command line counts before the environment, and that before the file.",
            "Without --dev a server needs a way to log in and, as credentials must not travel in the clear, TLS, a loopback address or --behind-tls-proxy. NAME tells several issuers apart: users of the issuer NAME have ids that begin with 'NAME:'.",
        ],
        examples: [
            "sluice serve --config=/etc/sluice.conf --print-config",
            "sluice serve --data=./data --listen=127.0.0.1:9080 --dev",
            "sluice serve --data=./data --listen=127.0.0.1:9443 --dev --tls-certificate=chain.pem --tls-key=key.pem",
            "sluice serve --data=./data --listen=0.0.0.0:9443 --tls-certificate=chain.pem --tls-key=key.pem --users --allow-everything",
        ])

    private let sources: SettingSources
    private let found: Settings
    private let printsSettings: Bool

    init(_ arguments: ParsedArguments) throws(CommandError) {
        sources = SettingSources(description: Self.description, arguments: arguments)
        found = try sources.read()
        printsSettings = arguments.flag("print-config")
    }

    func run() async throws {
        guard !printsSettings else {
            StandardOutput.shared.write(text: found.text)
            // They are printed also if the server would not start with them; then the exit code says so.
            _ = try ServeSettings(found, isReadingAgain: true)
            return
        }
        let settings = try ServeSettings(found)
        ProcessMemory.limitArenas()
        let (terminations, continuation) = AsyncStream<Void>.makeStream()
        Signals.onTermination { continuation.finish() }
        var configuration = settings.configuration
        let reload = SettingsReload(sources, settings)
        let supervision = Supervision()
        configuration.administration = Administration(levels: settings.levels) {
            try await supervision.reloading { try await reload.run() }.json
        }
        // The log has the reason of a failure.
        Signals.onHangUp { Task { _ = try? await supervision.reloading { try await reload.run() } } }
        for variable in sources.doubtfulVariables() {
            configuration.log?.about(.network)(
                .warning, "a variable of the environment sets nothing",
                [("variable", variable.name), ("nearest", variable.nearest)])
        }
        let (server, port) = try await Self.start(configuration, as: found)
        await reload.begin(for: server)
        StartWarnings(log: configuration.log).note(settings)
        let scheme = configuration.certificate == nil ? "ws" : "wss"
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        let url = "\(scheme)://\(host):\(port)"
        StandardOutput.shared.write(line: "listening on \(url)")
        if configuration.isDevelopment || configuration.servesDashboard {
            StandardOutput.shared.write(line: "dashboard at http\(url.dropFirst(2))/_/")
        }
        let metricsFile = settings.metricsPath.map { path in
            MetricsFile(path: path, log: configuration.log?.about(.network)) { await server.metricsText() }
        }
        let writing = metricsFile.map { file in Task { await file.keepCurrent() } }
        supervision.begin(for: server, url: url)
        for await _ in terminations {}
        server.drain()
        let drainTime = await reload.drainTime
        supervision.beginStop(after: drainTime)
        if drainTime > .zero { try? await Task.sleep(for: drainTime) }
        supervision.end()
        await server.stop()
        writing?.cancel()
        // A write that is under way would leave its draft behind when the process ends.
        await writing?.value
        await metricsFile?.write()
    }

    /// Makes a server that listens.
    ///
    /// - Throws: ``CommandError``, with the place of the setting whose value is to blame.
    static func start(
        _ configuration: ServerConfiguration, as settings: Settings
    ) async throws(CommandError) -> (server: SyncServer, port: UInt16) {
        do {
            try SyncServer.checkListening(configuration)
            let server = try SyncServer(configuration)
            do { return (server, try server.start()) } catch {
                await server.stop()
                throw error
            }
        } catch {
            let message = settings.located(message: (error as? ServerError)?.message ?? "\(error)")
            guard (error as? ServerError)?.code == .invalidConfiguration else { throw .failure(message) }
            throw .usage("\(message)\(configuration.isDevelopment ? "" : hint)")
        }
    }

    private static let hint =
        " (--users, --shared-secret-file, --jwt-issuer and --allow-anonymous say who may log in, --rules says what they may "
        + "do, --allow-everything lets them do everything, --tls-certificate and --tls-key or --behind-tls-proxy keep credentials secret; --dev is for "
        + "development)"
}
