internal import FoundationEssentials
public import SluiceModel
public import SluiceTransport

/// Says how to open a store: its place, its classes and its server.
public struct StoreConfiguration: Sendable {
    /// Where the store lives.
    public enum Location: Sendable, Hashable {
        /// A file, created if it is missing.
        case file(String)
        /// Memory that is released when the last ``Store`` of that name is closed. Stores of one name in a process
        /// share their data.
        case memory(name: String)
    }

    /// What a local commit survives: only the end of the process, or also a power cut.
    public enum Durability: Sendable, Hashable {
        /// Survives a killed process; a power cut may take the last commits.
        case process
        /// Survives a power cut: every commit is fsynced.
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
    /// What a local commit survives. Without effect for a store in memory.
    public var durability: Durability = .process
    /// Whether releasing a token without stopping it also purges its query's local objects.
    public var purgesWhenTokenIsReleased = false
    /// Where log lines go; nil logs nothing.
    public var log: LogSink?

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

/// Names the server that a store syncs with, and says how to connect.
public struct SyncConfiguration: Sendable, Hashable {
    /// What a store may do with the server's objects.
    public enum Access: Sendable, Hashable {
        /// Observed queries are downloaded, and writes are uploaded.
        case readWrite
        /// Observed queries are downloaded. Writes throw, and the server neither adds to its schema nor keeps a record
        /// of this store.
        case readOnly
    }

    /// `ws://HOST:PORT/DATABASE` or `wss://…`.
    public var url: String
    /// Who the store's user is. The server decides what it accepts: today only ``Credentials/anonymous``, in
    /// development.
    public var credentials: Credentials
    /// What the store may do with the server's objects.
    public var access = Access.readWrite
    /// Which server certificates to accept; for `wss`.
    public var trust = ServerTrust.systemAuthorities
    /// Additional header fields for the request that opens a connection, such as a gateway may need.
    public var headers: [String: String] = [:]
    /// The network interface to use, such as `eth0`; nil leaves the choice to the system.
    public var networkInterface: String?
    /// Connects through this network instead of sockets, to a server in the same process. The host of the URL is the
    /// name of the server in this network.
    public var loopback: LoopbackNetwork?
    /// The longest time for one attempt to connect, in all: name, TCP, TLS and WebSocket. Zero or less makes opening
    /// throw.
    public var connectTimeout: Duration = .seconds(30)
    /// The wait before the second attempt to connect. Each further wait is twice as long, less up to a quarter at
    /// random. Above zero.
    public var reconnectDelay: Duration = .seconds(1)
    /// The longest wait between attempts. Above zero.
    public var reconnectDelayMax: Duration = .seconds(300)
    /// How long a connection may be silent before the store probes it. If nothing is received or sent for twice that
    /// time after a probe, the store closes the connection. Above zero.
    public var heartbeat: Duration = .seconds(60)

    /// - Parameters:
    ///   - url: `ws://HOST:PORT/DATABASE` or `wss://…`.
    ///   - credentials: who the store's user is.
    public init(url: String, credentials: Credentials = .anonymous) {
        self.url = url
        self.credentials = credentials
    }
}

/// Which certificates a store accepts from its server over TLS.
public enum ServerTrust: Sendable, Hashable {
    /// A certificate for the URL's host, signed by an authority that the system trusts.
    case systemAuthorities
    /// A certificate for the URL's host, signed by an authority in one of these PEM files.
    case authorities(files: [String])
    /// Any chain that has, or is signed by, the certificate in this PEM file; host and dates do not matter.
    case pinned(file: String)
    /// Any self-signed certificate and no other. For development only, since it does not keep impostors out.
    case selfSignedOnly
}

/// How a client proves who its user is. More kinds will come with the server's login methods.
public struct Credentials: Sendable, Hashable {
    package enum Kind: Sendable, Hashable { case anonymous }

    package var kind: Kind

    /// No credentials. Servers accept them only in development.
    public static let anonymous = Credentials(kind: .anonymous)
}
