public import SluiceModel
public import SluiceTransport

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

    /// Which of several URLs an attempt to connect goes to.
    public enum URLChoice: Sendable, Hashable {
        /// The first, and after a failure the next. Once a session has opened, the first is tried first again.
        case inOrder
        /// One at random, and after a failure one of the others: the load spreads over the servers.
        case random
    }

    /// The servers of one database, each as `ws://HOST:PORT/DATABASE` or `wss://…`; at least one. All name the same
    /// database and serve the same data. An attempt that fails is followed by one to the next URL at once; the store
    /// waits only when all have failed.
    public var urls: [String]
    /// Which URL an attempt goes to.
    public var urlChoice = URLChoice.inOrder
    /// The only URL, or the first of several.
    public var url: String {
        get { urls.first ?? "" }
        set { urls = [newValue] }
    }
    /// Who the store's user is. The server decides what it accepts. They travel to the servers of the URLs, which
    /// should begin with `wss` wherever others could listen on the way, and to a server that one of these hands the
    /// session over to.
    public var credentials: Credentials
    /// The values of `$client` in the server's rules, by name: what this device chooses to sync of what its user may
    /// read. Single values, and lists of at most 10,000; 64 names at most, and 1 MiB in all. A rule that names a
    /// variable without a value allows nothing by it. ``Store/setVariables(_:)`` changes them later.
    public var variables: [String: Value] = [:]
    /// What the store may do with the server's objects.
    public var access = Access.readWrite
    /// Which server certificates to accept; for `wss`.
    public var trust = ServerTrust.systemAuthorities
    /// Additional header fields for the request that opens a connection, such as a gateway may need.
    public var headers: [String: String] = [:]
    /// The network interface to use, such as `eth0`; nil leaves the choice to the system.
    public var networkInterface: String?
    /// Whether the store shares its connection with other stores of this process that have the same server, user and
    /// settings of the connection. Each has a session of its own on it, and they take turns, but a store that cannot
    /// keep up with what it is sent delays the others. Stores in memory have connections of their own. Turn it off where
    /// a proxy sends databases of one address to different servers.
    public var sharesConnection = true
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
    /// After how many attempts in a row that failed syncing ends with the state ``SessionStatus/State/failed(_:)``;
    /// nil never gives up. A session that opens begins the count anew, as does ``StoreSession/start(reset:)``.
    public var attemptCountMax: Int?
    /// Whether a lost connection, or an attempt to connect that fails, ends those who wait for the server, with the
    /// code ``SyncError/Code/unreachable``. If not, they go on waiting, up to their time-outs. The store goes on
    /// connecting in both cases.
    public var cancelsWaitsOnNonFatalErrors = false
    /// How long a connection may be silent before the store probes it. If nothing is received or sent for twice that
    /// time after a probe, the store closes the connection. Above zero.
    public var heartbeat: Duration = .seconds(60)
    /// What else the store wants of its session.
    package var wishes: SessionWishes = []
    /// How messages name what says which certificates are trusted.
    package var trustSetting = "SyncConfiguration.trust"

    /// - Parameters:
    ///   - url: `ws://HOST:PORT/DATABASE` or `wss://…`.
    ///   - credentials: who the store's user is.
    public init(url: String, credentials: Credentials = .anonymous) {
        self.init(urls: [url], credentials: credentials)
    }

    /// - Parameters:
    ///   - urls: the servers of one database, each as `ws://HOST:PORT/DATABASE` or `wss://…`.
    ///   - choice: which of them an attempt goes to.
    ///   - credentials: who the store's user is.
    public init(urls: [String], choice: URLChoice = .inOrder, credentials: Credentials = .anonymous) {
        self.urls = urls
        urlChoice = choice
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
