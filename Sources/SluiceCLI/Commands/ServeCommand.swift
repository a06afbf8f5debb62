internal import Sluice
internal import SluiceServer

/// `sluice serve`: runs the server.
struct ServeCommand: Command {
    static let description = CommandDescription(
        "serve", "Run the server, with its databases in a folder.",
        options: [
            .value("data", "DIR", "the folder of the databases; made if missing", completion: .directories),
            .value("listen", "HOST:PORT", "where to listen; 127.0.0.1:9080 by default, port 0 takes a free one"),
            .flag("dev", "development: anybody may log in and add to the schema; loopback addresses only"),
            .value("worker-id", "NAME", "the name of this server in change events; none by default"),
            .value("hand-over-to", "URL", "send every client on to the server at ws://HOST:PORT or wss://HOST:PORT"),
            .value("tls-certificate", "FILE", "the certificate chain in PEM form, for wss", completion: .files),
            .value("tls-key", "FILE", "the certificate's private key in PEM form", completion: .files),
            .choice("log-level", LogLevel.allCases.map(\.rawValue), "what to log on stderr; info by default"),
            .value(
                "log-domains", LogDomains.placeholder, "levels of single domains, such as network=warning,login=off"),
            .choice(
                "log-format", LogPrinter.Format.allCases.map(\.rawValue),
                "how: text on a terminal unless given, else JSON, one object on each line"),
            .value(
                "metrics-listen", "HOST:PORT", "where to answer GET /metrics, without login and TLS; nowhere by default"
            ),
            .value(
                "metrics-file", "FILE", "where to write metrics, every 10 s, in Prometheus' text format",
                completion: .files),
            .value(
                "drain", "TIME",
                "how long to serve on after SIGTERM while /health/ready says 503, such as 10s; 0s by default"),
        ] + LoginOptions.options + QuotaOptions.options + JournalOptions.options + AuditOptions.options,
        notes: [
            "Once the server listens, a line on stdout says where. SIGTERM and SIGINT stop it in order, with exit code 0; a second one ends it at once. SIGHUP has it read the certificate again, and begin with another file of the audit log; connections stay.",
            "Without --dev a server needs a way to log in and, as credentials must not travel in the clear, TLS, a loopback address or --behind-tls-proxy. NAME tells several issuers apart: users of the issuer NAME have ids that begin with 'NAME:'.",
        ],
        examples: [
            "sluice serve --data=./data --listen=127.0.0.1:9080 --dev",
            "sluice serve --data=./data --listen=127.0.0.1:9443 --dev --tls-certificate=chain.pem --tls-key=key.pem",
            "sluice serve --data=./data --listen=0.0.0.0:9443 --tls-certificate=chain.pem --tls-key=key.pem --users --allow-everything",
        ])

    private let configuration: ServerConfiguration
    private let metricsPath: String?
    private let drainTime: Duration
    private let secretFiles: [String]

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard let folder = arguments.value("data") else {
            throw .usage("--data=DIR is missing: the folder of the databases")
        }
        let address = try ListenAddress(arguments.value("listen") ?? "127.0.0.1:9080", of: "listen")
        var configuration = ServerConfiguration(
            dataFolder: folder, host: address.host, port: address.port, isDevelopment: arguments.flag("dev"))
        switch (arguments.value("tls-certificate"), arguments.value("tls-key")) {
        case (nil, nil): break
        case (let chain?, let key?): configuration.certificate = .init(chainFile: chain, keyFile: key)
        default: throw .usage("--tls-certificate and --tls-key belong together")
        }
        try LoginOptions.apply(arguments, to: &configuration)
        try QuotaOptions.apply(arguments, to: &configuration.quotas)
        configuration.workerID = arguments.value("worker-id")
        configuration.handsOverTo = arguments.value("hand-over-to")
        configuration.log = LogPrinter.sink(
            level: try arguments.choice("log-level", as: LogLevel.self) ?? .info,
            domains: try LogDomains.parse(arguments.value("log-domains") ?? ""),
            format: try arguments.choice("log-format", as: LogPrinter.Format.self) ?? .usual)
        try JournalOptions.apply(arguments, to: &configuration)
        try AuditOptions.apply(arguments, to: &configuration)
        if let text = arguments.value("metrics-listen") {
            let address = try ListenAddress(text, of: "metrics-listen")
            configuration.metricsListen = .init(host: address.host, port: address.port)
        }
        metricsPath = arguments.value("metrics-file")
        if let metricsPath { try MetricsFile.check(metricsPath) }
        drainTime = try arguments.duration("drain", mayBeZero: true) ?? .zero
        secretFiles = LoginOptions.secretFiles(arguments)
        self.configuration = configuration
    }

    func run() async throws {
        ProcessMemory.limitArenas()
        let (terminations, continuation) = AsyncStream<Void>.makeStream()
        Signals.onTermination { continuation.finish() }
        let server: SyncServer
        do {
            server = try SyncServer(configuration)
        } catch let error as ServerError where error.code == .invalidConfiguration {
            throw CommandError.usage(
                "\(error.message)\(configuration.isDevelopment ? "" : Self.hint)")
        }
        let port = try server.start()
        StartWarnings(log: configuration.log).note(configuration, secretFiles: secretFiles)
        if configuration.certificate != nil {
            let log = configuration.log
            Signals.onHangUp {
                do {
                    try server.reloadCertificate()
                    log?(.info, "the certificate was read again")
                } catch {
                    log?(.error, "the certificate could not be read again", [("error", "\(error)")])
                }
            }
        }
        if configuration.auditLog != nil { Signals.onHangUp { server.reopenAuditLog() } }
        let scheme = configuration.certificate == nil ? "ws" : "wss"
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        StandardOutput.shared.write(line: "listening on \(scheme)://\(host):\(port)")
        let metricsFile = metricsPath.map { path in
            MetricsFile(path: path, log: configuration.log) { await server.metricsText() }
        }
        let writing = metricsFile.map { file in Task { await file.keepCurrent() } }
        for await _ in terminations {}
        server.drain()
        if drainTime > .zero { try? await Task.sleep(for: drainTime) }
        await server.stop()
        writing?.cancel()
        await metricsFile?.write()
    }

    private static let hint =
        " (--users, --shared-secret-file, --jwt-issuer and --allow-anonymous say who may log in, --rules says what they may "
        + "do, --allow-everything lets them do everything, --tls-certificate and --tls-key or --behind-tls-proxy keep credentials secret; --dev is for "
        + "development)"
}

/// An address to listen at: `HOST:PORT`, with an IPv6 address in brackets.
struct ListenAddress: Hashable, Sendable {
    let host: String
    let port: UInt16

    /// - Parameter option: the option that gives it, for messages.
    init(_ text: String, of option: String) throws(CommandError) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw .usage("--\(option) is HOST:PORT, such as 127.0.0.1:9080, and '\(text)' is not")
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !host.contains(":") || text.hasPrefix("[") else {
            throw .usage("--\(option) is HOST:PORT, such as 127.0.0.1:9080 or [::1]:9080, and '\(text)' is not")
        }
        self.host = String(host)
        self.port = port
    }
}
