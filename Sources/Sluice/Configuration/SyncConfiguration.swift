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

    /// `ws://HOST:PORT/DATABASE` or `wss://…`.
    public var url: String
    /// Who the store's user is. The server decides what it accepts. They travel to the server of the URL, which
    /// should begin with `wss` wherever others could listen on the way.
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
