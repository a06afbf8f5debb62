internal import Sluice
internal import SluiceModel
internal import SluiceServer
internal import SluiceTransport

/// What the settings of `sluice serve` mean.
struct ServeSettings: Sendable {
    let settings: Settings
    var configuration: ServerConfiguration
    let logLevel: LogLevel
    let logDomains: [LogDomain: LogLevel?]
    /// The levels of the log, which may change while the server runs.
    let levels: LogLevels
    let metricsPath: String?
    let drainTime: Duration

    /// All settings, in the order of help and of `--print-config`.
    static let options: [OptionDescription] =
        [
            .value("data", "DIR", "the folder of the databases; made if missing", completion: .directories),
            .value(
                "listen", "HOST:PORT", "where to listen; port 0 takes a free one", default: "127.0.0.1:9080"),
            .flag("dev", "development: anybody may log in and add to the schema; loopback addresses only"),
            .value("worker-id", "NAME", "the name of this server in change events"),
            .value("hand-over-to", "URL", "send every client on to the server at ws://HOST:PORT or wss://HOST:PORT"),
            .value("tls-certificate", "FILE", "the certificate chain in PEM form, for wss", completion: .files),
            .value("tls-key", "FILE", "the certificate's private key in PEM form", completion: .files),
            .choice("log-level", LogLevel.allCases.map(\.rawValue), "what to log on stderr", default: "info"),
            .value(
                "log-domains", LogDomains.placeholder, "levels of single domains, such as network=warning,login=off"),
            .choice(
                "log-format", LogPrinter.Format.allCases.map(\.rawValue),
                "how: text on a terminal unless given, else JSON, one object on each line"),
            .value("metrics-listen", "HOST:PORT", "where to answer GET /metrics, without login and TLS"),
            .value(
                "metrics-file", "FILE", "where to write metrics, every 10 s, in Prometheus' text format",
                completion: .files),
            .value(
                "drain", "TIME",
                "how long to serve on after SIGTERM while /health/ready says 503, such as 10s", default: "0s"),
        ] + LoginOptions.options + QuotaOptions.options + JournalOptions.options + BackupOptions.options
        + AuditOptions.options + WebOptions.options

    /// The settings that a running server takes over when it reads them again.
    static let changeable: Set<String> =
        Set(["log-level", "log-domains", "tls-certificate", "tls-key", "rules", "drain", "allow-origin"])
        .union(QuotaOptions.options.map(\.name))

    /// The files with secrets.
    var secretFiles: [String] { LoginOptions.secretFiles(settings.values) }

    /// - Parameters:
    ///   - settings: the values, of all places.
    ///   - isReadingAgain: whether a running server reads them again. Then no journals are made, and no file is opened.
    /// - Throws: ``CommandError`` when a value cannot be right or values contradict each other; the message says where
    ///   the value stands.
    init(_ settings: Settings, isReadingAgain: Bool = false) throws(CommandError) {
        self.settings = settings
        let values = settings.values
        do throws(CommandError) {
            logLevel = try values.choice("log-level", as: LogLevel.self) ?? .info
            logDomains = try LogDomains.parse(values.value("log-domains") ?? "")
            levels = LogLevels(logLevel, domains: logDomains)
            let format = try values.choice("log-format", as: LogPrinter.Format.self) ?? .usual
            drainTime = try values.duration("drain", mayBeZero: true) ?? .zero
            metricsPath = values.value("metrics-file")
            configuration = try Self.configuration(values)
            configuration.log = LogPrinter.sink(levels, format: format)
            if !isReadingAgain {
                if let metricsPath { try MetricsFile.check(metricsPath) }
                try JournalOptions.apply(values, to: &configuration)
                try AuditOptions.apply(values, to: &configuration)
            }
        } catch {
            throw settings.located(error)
        }
    }

    private static func configuration(_ values: ParsedArguments) throws(CommandError) -> ServerConfiguration {
        guard let folder = values.value("data") else {
            throw .usage("--data=DIR is missing: the folder of the databases")
        }
        let address = try ListenAddress(values.value("listen") ?? "127.0.0.1:9080", of: "listen")
        var configuration = ServerConfiguration(
            dataFolder: folder, host: address.host, port: address.port, isDevelopment: values.flag("dev"))
        switch (values.value("tls-certificate"), values.value("tls-key")) {
        case (nil, nil): break
        case (let chain?, let key?): configuration.certificate = .init(chainFile: chain, keyFile: key)
        default: throw .usage("--tls-certificate and --tls-key belong together")
        }
        try LoginOptions.apply(values, to: &configuration)
        try WebOptions.apply(values, to: &configuration)
        try QuotaOptions.apply(values, to: &configuration.quotas)
        try BackupOptions.apply(values, to: &configuration)
        configuration.workerID = values.value("worker-id")
        if let url = values.value("hand-over-to") {
            guard let endpoint = try? Endpoint(url), endpoint.target == "/" else {
                throw .usage(
                    "--hand-over-to is the address of a server without a database, such as wss://b.example, and not "
                        + "'\(DisplayText.shortened(url))'")
            }
            configuration.handsOverTo = url
        }
        if let text = values.value("metrics-listen") {
            let address = try ListenAddress(text, of: "metrics-listen")
            configuration.metricsListen = .init(host: address.host, port: address.port)
        }
        return configuration
    }
}
