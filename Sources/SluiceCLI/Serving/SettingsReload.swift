internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel
internal import SluiceServer

/// Reads the settings of a running server again, one reading after the other.
///
/// Whether the server shows a certificate, and whether it has rules of its own, is settled when it starts; so is every
/// setting that is none of ``ServeSettings/changeable``. Each reading is compared with the start for what waits for a
/// restart, and with what holds for what has changed.
actor SettingsReload {
    /// What a reading has changed.
    struct Outcome: Hashable, Sendable {
        /// The names of the settings that hold from now on.
        var changed: [String]
        /// The names of those that are others than at the start and hold after the next one.
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
    /// Readings that were asked for before the server had started.
    private var early: [CheckedContinuation<Void, Never>] = []
    private let log: LogSink?
    private let levels: LogLevels
    /// What the server was started with.
    private let started: ServeSettings
    /// The values that hold, of the settings that can change.
    private var held: [String: [String]]
    /// What the files of settings had at the start, and what those had that hold.
    private let firstContents: SettingContents
    private var contents: SettingContents
    /// How long the server is to serve on once it is told to stop.
    private(set) var drainTime: Duration

    /// - Parameter started: what the server is started with.
    init(_ sources: SettingSources, _ started: ServeSettings) {
        self.sources = sources
        self.started = started
        held = started.settings.valuesByName.filter { ServeSettings.changeable.contains($0.key) }
        firstContents = SettingContents(started.configuration)
        contents = firstContents
        drainTime = started.drainTime
        log = started.configuration.log?.about(.network)
        levels = started.levels
    }

    /// Says which server takes over what has changed, once it has started.
    func begin(for server: SyncServer) {
        self.server = server
        for reading in early { reading.resume() }
        early = []
    }

    /// Reads the settings, their files, and the certificate. Waits for the server's start.
    ///
    /// - Throws: ``CommandError`` when something is wrong with them; then nothing changes.
    func run() async throws -> Outcome {
        if server == nil { await withCheckedContinuation { early.append($0) } }
        // Whatever is wrong with the settings, a log that was moved away is begun anew.
        server?.reopenAuditLog()
        do {
            let new = try ServeSettings(try sources.read(), isReadingAgain: true)
            let settled = settled(by: new)
            var configuration = new.configuration
            if settled.contains("tls-certificate") { configuration.certificate = nil }
            if settled.contains("rules") { configuration.rules = nil }
            let found = SettingContents(new.configuration)
            do { try server?.reload(configuration) } catch let error as ServerError {
                throw CommandError.failure(new.settings.located(message: error.message))
            }
            levels.set(new.logLevel, domains: new.logDomains)
            drainTime = new.drainTime
            let outcome = outcome(of: new, settled, found)
            let values = new.settings.valuesByName
            for name in ServeSettings.changeable.subtracting(settled) {
                held[name] = values[name]
                contents.replace(name, with: found)
            }
            log?(.info, "the settings were read again", [("changed", Self.list(outcome.changed))])
            if !outcome.waiting.isEmpty {
                log?(.warning, "settings that have changed need a restart", [("settings", Self.list(outcome.waiting))])
            }
            return outcome
        } catch {
            log?(.error, "the settings could not be read again; those before hold", [("error", "\(error)")])
            throw error
        }
    }

    /// The changeable settings that wait for a restart all the same.
    private func settled(by new: ServeSettings) -> Set<String> {
        let (old, new) = (started.configuration, new.configuration)
        var names: Set<String> = []
        if (old.certificate == nil) != (new.certificate == nil) { names = ["tls-certificate", "tls-key"] }
        if (old.rules == nil) != (new.rules == nil) { names.insert("rules") }
        return names
    }

    private func outcome(of new: ServeSettings, _ settled: Set<String>, _ found: SettingContents) -> Outcome {
        let (first, values) = (started.settings.valuesByName, new.settings.valuesByName)
        var outcome = Outcome(changed: [], waiting: [])
        for name in new.settings.options.map(\.name) {
            if ServeSettings.changeable.contains(name), !settled.contains(name) {
                if values[name] != held[name] || contents.isOther(name, in: found) { outcome.changed.append(name) }
            } else if values[name] != first[name] || firstContents.isOther(name, in: found) {
                outcome.waiting.append(name)
            }
        }
        return outcome
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "nothing" : names.joined(separator: ", ")
    }
}
