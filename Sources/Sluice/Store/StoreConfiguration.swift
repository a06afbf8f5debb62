internal import FoundationEssentials
public import SluiceModel
public import SluiceTransport

/// How a store is opened.
public struct StoreConfiguration: Sendable {
    /// Where the store lives.
    public enum Location: Sendable, Hashable {
        /// A file, made if missing.
        case file(String)
        /// Memory, gone when the last ``Store`` of that name is closed. Stores of one name in a process share their data.
        case memory(name: String)
    }

    /// How safe a local commit is when the machine, not only the process, dies.
    public enum Durability: Sendable, Hashable {
        /// Survives a killed process; a power cut may take the last commits.
        case process
        /// Survives a power cut: every commit is fsynced.
        case full
    }

    /// Where the store lives. All stores of one location in a process are one store.
    public var location: Location
    /// The Swift types whose objects the store holds.
    public var models: [any Model.Type]
    /// Classes without a Swift type. A store without models learns its classes from the server and from ``Store/declare(_:)``.
    public var schema: Schema
    /// What the store syncs with; nil for a store that only lives here.
    public var sync: SyncConfiguration?
    /// What a local commit outlives. Nothing for a store in memory.
    public var durability: Durability = .process
    /// Whether a token that merely goes out of scope also purges its query's local objects.
    public var purgesWhenTokenIsReleased = false
    /// Where log lines go; nil for nowhere.
    public var log: LogSink?

    /// Every class: of the models, and without one.
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
    ///   - path: the store's file; nil for a private store in memory.
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

/// What a store syncs with, and how.
public struct SyncConfiguration: Sendable, Hashable {
    /// What a store may do with the server's objects.
    public enum Access: Sendable, Hashable {
        /// Observed queries come down, writes go up.
        case readWrite
        /// Writing throws, the server's schema is not added to, and the server keeps no record of this store.
        case readOnly
    }

    /// `ws://HOST:PORT/DATABASE` or `wss://…`.
    public var url: String
    /// Who the store's user is. The server decides what it accepts: today ``Credentials/anonymous`` in development only.
    public var credentials: Credentials
    /// What the store may do with the server's objects.
    public var access = Access.readWrite
    /// Whom to believe to be the server; for `wss`.
    public var trust = ServerTrust.systemAuthorities
    /// More header fields for the request that opens a connection, for gateways on the way.
    public var headers: [String: String] = [:]
    /// The network interface to go through, such as `eth0`; nil leaves it to the system.
    public var networkInterface: String?
    /// Connects through this network instead of sockets, to a server in the same process; the URL's host is the server's
    /// name in it.
    public var loopback: LoopbackNetwork?
    /// How long one attempt to connect may take, in all: name, TCP, TLS and WebSocket. Above zero, or opening throws.
    public var connectTimeout: Duration = .seconds(30)
    /// The wait before the second attempt to connect; it doubles from there, less up to a quarter at random. Above zero.
    public var reconnectDelay: Duration = .seconds(1)
    /// The longest wait between attempts. Above zero.
    public var reconnectDelayMax: Duration = .seconds(300)
    /// How long a connection may be silent before it is probed; it is given up when nothing has come or gone for twice
    /// that time after a probe. Above zero.
    public var heartbeat: Duration = .seconds(60)

    /// - Parameters:
    ///   - url: `ws://HOST:PORT/DATABASE` or `wss://…`.
    ///   - credentials: who this store's user is.
    public init(url: String, credentials: Credentials = .anonymous) {
        self.url = url
        self.credentials = credentials
    }
}

/// Whom a store believes to be its server, over TLS.
public enum ServerTrust: Sendable, Hashable {
    /// A certificate for the URL's host, signed by an authority that the system trusts.
    case systemAuthorities
    /// A certificate for the URL's host, signed by an authority in one of these PEM files.
    case authorities(files: [String])
    /// Any chain that has, or is signed by, the certificate in this PEM file; host and dates do not matter.
    case pinned(file: String)
    /// Any self-signed certificate and no other: for development, since it does not keep impostors out.
    case selfSignedOnly
}

/// How a client says who it is. More kinds come with the server's login methods.
public struct Credentials: Sendable, Hashable {
    package enum Kind: Sendable, Hashable { case anonymous }

    package var kind: Kind

    /// No credentials: servers accept them only in development.
    public static let anonymous = Credentials(kind: .anonymous)
}
