internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel
internal import SluiceServer

/// Reads the settings of a running server again, one reading after the other.
actor SettingsReload {
    /// What a reading has changed.
    struct Outcome: Hashable, Sendable {
        /// The names of the settings that hold from now on.
        var changed: [String]
        /// The names of those that were changed and hold after the next start.
        var waiting: [String]

        /// As the admin socket tells it.
        var json: String {
            func list(_ names: [String]) -> JSONValue { .array(names.map { .string($0) }) }
            return JSONValue.object([
                .init(name: "changed", value: list(changed)), .init(name: "needRestart", value: list(waiting)),
            ]).text
        }
    }

    private let sources: SettingSources
    private var server: SyncServer?
    private let log: LogSink?
    private let levels: LogLevels
    private var current: ServeSettings

    /// - Parameter current: what the server was started with.
    init(_ sources: SettingSources, _ current: ServeSettings) {
        self.sources = sources
        self.current = current
        log = current.configuration.log?.about(.network)
        levels = current.levels
    }

    /// Says which server takes over what has changed.
    func begin(for server: SyncServer) { self.server = server }

    /// How long the server is to serve on once it is told to stop.
    var drainTime: Duration { current.drainTime }

    /// Reads the settings, their files, and the certificate.
    ///
    /// - Throws: ``CommandError`` or ``ServerError`` when something is wrong with them; then nothing changes.
    func run() throws -> Outcome {
        // Whatever is wrong with the settings, a log that was moved away is begun anew.
        server?.reopenAuditLog()
        do {
            let new = try ServeSettings(try sources.read(), isReadingAgain: true)
            let outcome = outcome(of: new)
            var configuration = new.configuration
            // Whether there is a certificate, or rules, is settled at the start.
            if current.configuration.certificate == nil { configuration.certificate = nil }
            if current.configuration.rules == nil { configuration.rules = nil }
            try server?.reload(configuration)
            levels.set(new.logLevel, domains: new.logDomains)
            log?(.info, "the settings were read again", [("changed", Self.list(outcome.changed))])
            if !outcome.waiting.isEmpty {
                log?(.warning, "settings that have changed need a restart", [("settings", Self.list(outcome.waiting))])
            }
            current = new
            return outcome
        } catch {
            log?(.error, "the settings could not be read again; those before hold", [("error", "\(error)")])
            throw error
        }
    }

    private func outcome(of new: ServeSettings) -> Outcome {
        var changed = new.settings.differences(from: current.settings)
        let (old, configuration) = (current.configuration, new.configuration)
        // The text may have changed in the file.
        if old.rules != configuration.rules, !changed.contains("rules") { changed.append("rules") }
        let settled =
            ((old.certificate == nil) != (configuration.certificate == nil) ? ["tls-certificate", "tls-key"] : [])
            + ((old.rules == nil) != (configuration.rules == nil) ? ["rules"] : [])
        let changeable = ServeSettings.changeable.subtracting(settled)
        return Outcome(
            changed: changed.filter(changeable.contains), waiting: changed.filter { !changeable.contains($0) })
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "nothing" : names.joined(separator: ", ")
    }
}
