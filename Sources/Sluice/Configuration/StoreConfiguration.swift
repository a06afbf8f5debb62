internal import FoundationEssentials
public import SluiceModel

/// Says how to open a store: its place, its classes and its server.
public struct StoreConfiguration: Sendable {
    /// Where the store lives.
    public enum Location: Sendable, Hashable {
        /// A file, created if it is missing, at a path whose bytes are taken as they are: `~` and `%` are letters of a
        /// name. A relative path begins at the process's working folder.
        case file(String)
        /// Memory that is released when the last ``Store`` of that name is closed. Stores of one name in a process
        /// share their data.
        case memory(name: String)
    }

    /// What a local commit survives: only the end of the process, or also a power cut.
    public enum Durability: Sendable, Hashable {
        /// Survives a killed process; a power cut may take the last commits.
        case process
        /// Survives a power cut: every write is fsynced before it returns. What the server has sent is fsynced with
        /// the next write or checkpoint; a power cut before that takes the store back to an earlier state of the
        /// server, and the rest comes again.
        case full
    }

    /// Where the store lives. All stores of one process at one location are the same store.
    public var location: Location
    /// The Swift types whose objects the store holds.
    public var models: [any Model.Type]
    /// Classes without a Swift type. A store without models gets its classes from the server and from
    /// ``Store/declare(_:)``.
    public var schema: Schema
    /// The server to sync with; nil for a store that exists only here.
    public var sync: SyncConfiguration?
    /// Whether the store begins to sync when it is opened. If not, ``StoreSession/start(reset:)`` begins it, after
    /// listeners are set, for example. Without effect where the store is open already.
    public var startsSyncing = true
    /// What a local commit survives. Without effect for a store in memory.
    public var durability: Durability = .process
    /// Whether releasing a token without stopping it also purges its query's local objects.
    public var purgesWhenTokenIsReleased = false
    /// Whether objects that the user may not read any more are removed from this store as soon as the server says so,
    /// whatever holds them.
    ///
    /// If not, they leave the results of observed queries with the reason `RemovalReason.permission` and stay in the
    /// store, as they were when they were last synced, until ``Store/purgeUnsubscribed()``. Changing this back to `true`
    /// removes them with the next session.
    public var purgesRevokedObjects = true
    /// Decides for single objects that the user may not read any more whether they stay, as all do without
    /// ``purgesRevokedObjects``; nil lets none stay.
    ///
    /// It is told the class and the key of an object that would be removed, and returns whether the object stays. While
    /// it stays, later sessions ask again. It runs on the store's queue, so it must be quick and must not use the store.
    /// It is not asked about deletions.
    public var keepsRevokedObject: (@Sendable (Identity) -> Bool)?
    /// What becomes of local writes that the server rejects. What is kept already stays so until it is discarded.
    public var rejectedWrites = RejectedWritePolicy.revert
    /// What becomes of unsent writes when the server has another history than the one that the store knows.
    public var clientReset = ClientResetPolicy()
    /// How much the store keeps of what nobody observes; nothing is removed unless a limit is set.
    public var cacheLimits = CacheLimits()
    /// Where log lines go; nil logs nothing.
    public var log: LogSink?
    /// Who is told about the store's work; nil for nobody.
    public var metrics: (any StoreMetrics)?

    /// All classes: those of the models, and those without a Swift type.
    ///
    /// - Throws: `SchemaError` when a declaration is malformed or contradicts another.
    package func wholeSchema() throws -> Schema {
        var classes = schema.classes
        for model in models {
            guard let declared = try model.declaredClass?.schema.get() else { continue }
            if let twin = classes.first(where: { $0.name == declared.name }) {
                guard twin == declared else {
                    throw SchemaError(.duplicateName, "the class '\(declared.name)' is declared twice, and differently")
                }
            } else {
                classes.append(declared)
            }
        }
        return try Schema(classes)
    }

    package var environment = StoreEnvironment.system

    /// - Parameters:
    ///   - path: the store's file, see ``Location/file(_:)``; nil for a private store in memory.
    ///   - models: the Swift types whose objects the store holds.
    ///   - schema: classes without a Swift type, for work with records.
    ///   - sync: what to sync with.
    public init(
        path: String? = nil, models: [any Model.Type] = [], schema: Schema = Schema(), sync: SyncConfiguration? = nil
    ) {
        self.models = models
        self.location = path.map { .file($0) } ?? .memory(name: UUID().uuidString)
        self.schema = schema
        self.sync = sync
    }
}
