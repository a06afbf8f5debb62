internal import Sluice
internal import SluiceStorage

/// Connects a command to its database, with the arguments and options that all such commands share.
struct ServerAccess: Sendable {
    static let argument = ArgumentDescription("URL", "the database: ws://HOST:PORT/DATABASE, or wss:// for TLS")
    static let options: [OptionDescription] =
        [
            .value(
                "timeout", "TIME",
                "how long to wait without progress, also for the first connection, such as 30, 500ms or 2m; 60 s by default, and 10 s for a first connection that fails"
            ),
            .value(
                "ca-file", "FILE", "certificate authorities to trust instead of the system's (wss)", completion: .files),
        ] + CredentialOptions.options

    /// After this time a command whose last attempt to connect has failed says so, and ends unless it was told how long to
    /// wait. A server that is busy has the whole timeout.
    private static let retryTimeout: Duration = .seconds(10)

    let url: ServerURL
    let timeout: Duration
    /// Whether it was told how long to wait.
    private let hasTimeout: Bool
    private let authorityFile: String?
    private let credentials: Credentials

    /// - Parameter position: which of the arguments is the URL.
    init(_ arguments: ParsedArguments, at position: Int = 0) throws(CommandError) {
        try self.init(arguments, to: arguments.positionals[position])
    }

    /// - Parameter url: the URL of the database.
    init(_ arguments: ParsedArguments, to url: String) throws(CommandError) {
        self.url = try ServerURL(url)
        timeout = try arguments.duration("timeout") ?? .seconds(60)
        hasTimeout = arguments.has("timeout")
        authorityFile = arguments.value("ca-file")
        credentials = try CredentialOptions.credentials(arguments)
        if authorityFile != nil, !self.url.isEncrypted {
            throw .usage("--ca-file is for wss:// URLs: without TLS no certificate is looked at")
        }
    }

    /// Opens a store in memory, and waits for its session and the server's schema.
    ///
    /// - Parameters:
    ///   - access: whether the command writes.
    ///   - makesDatabase: whether the database is made if it is not there; else that is refused.
    /// - Throws: ``CommandError`` when no session opens in time; `SyncError` when the server rejects it.
    func open(
        _ access: SyncConfiguration.Access = .readOnly, makesDatabase: Bool = false
    ) async throws -> Store {
        var sync = SyncConfiguration(url: url.text, credentials: credentials)
        sync.trustSetting = "--ca-file"
        if let authorityFile { sync.trust = .authorities(files: [authorityFile]) }
        sync.access = access
        // A command knows its password until it ends, and nobody would present a token after that.
        sync.wishes = [.noToken, makesDatabase ? .newDatabase : .existingDatabase]
        sync.reconnectDelay = .milliseconds(200)
        sync.reconnectDelayMax = .seconds(2)
        let store = try await Store.open(StoreConfiguration(sync: sync))
        var waited = Duration.zero
        for limit in [min(Self.retryTimeout, timeout), timeout] where waited < limit {
            if try await isConnected(store, within: limit - waited) { return store }
            waited = limit
            guard let problem = try? await store.core.perform({ $0.lastProblem }) else { continue }
            if hasTimeout, waited < timeout {
                Diagnostics.report(
                    "\(url.text): no connection yet: \(problem); trying for \(Self.text(timeout - waited)) more")
                continue
            }
            throw CommandError.failure("\(url.text): no connection within \(Self.text(waited)): \(problem)")
        }
        throw CommandError.failure(
            "\(url.text): no connection within \(Self.text(waited)); is the server running?")
    }

    /// A length of time in seconds: `10 s`, `0.3 s`.
    private static func text(_ time: Duration) -> String {
        let (seconds, rest) = time.components
        return rest == 0 ? "\(seconds) s" : "\(time / .seconds(1)) s"
    }

    /// Waits for the store's session.
    private func isConnected(_ store: Store, within time: Duration) async throws -> Bool {
        do {
            try await store.connected(timeout: time)
            return true
        } catch let error as SyncError where error.code == .timedOut {
            return false
        }
    }
}

extension Store {
    /// Looks up link targets among the objects that are here.
    var resolver: RecordRenderer.Resolver {
        { className, key in
            try self.core.storage.read { reader in
                guard let index = reader.schema.index(of: className) else { return nil }
                return try reader.row(ObjectRef(index, key)).map { Record(classSchema: reader.schema[index], row: $0) }
            }
        }
    }
}
