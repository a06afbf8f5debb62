internal import FoundationEssentials
public import SluiceModel
package import SluiceStorage
public import SluiceTransport

/// Says how to run a server.
public struct ServerConfiguration: Sendable {
    /// A certificate chain and its key, as files in PEM form.
    public struct Certificate: Sendable, Hashable {
        /// The file with the server's certificate, followed by those that lead to its authority.
        public var chainFile: String
        /// The file with the private key of the first certificate, not encrypted.
        public var keyFile: String

        /// Names the files. They are read when the server starts.
        ///
        /// - Parameters:
        ///   - chainFile: the path of the certificate chain.
        ///   - keyFile: the path of the private key.
        public init(chainFile: String, keyFile: String) {
            self.chainFile = chainFile
            self.keyFile = keyFile
        }
    }

    /// An address to listen at.
    public struct Address: Sendable, Hashable {
        /// The name or address.
        public var host: String
        /// The port; 0 takes a free one.
        public var port: UInt16

        /// Names an address.
        ///
        /// - Parameters:
        ///   - host: the name or address.
        ///   - port: the port; 0 takes a free one.
        public init(host: String = "127.0.0.1", port: UInt16) {
            self.host = host
            self.port = port
        }
    }

    /// The folder of the databases, with one file for each; nil keeps them in memory.
    public var dataFolder: String?
    /// The name or address to listen at.
    public var host: String
    /// The port to listen at; 0 takes a free port.
    public var port: UInt16
    /// Whether this is a development server: it accepts anonymous logins, lets clients add to the schema, and listens
    /// only at loopback addresses.
    public var isDevelopment: Bool
    /// How users log in, on a server that is not for development.
    public var logins = ServerLogins()
    /// What users may read and do, as a rules file (JSON, see docs/permissions.md). The server stores it in each database
    /// that it opens, where it holds until another one is stored. What it does not allow is denied.
    public var rules: String?
    /// Whether every user who logs in may read, change and delete everything, and add to the schema, in databases that
    /// have no rules. A server that is not for development and has no ``rules`` must say so.
    public var allowsEverything = false
    /// Whether a proxy adds TLS before this server, so that credentials may travel to it in the clear. The last address
    /// in `X-Forwarded-For` then counts as the client's.
    public var isBehindTLSProxy = false
    /// A PEM file with the authorities to trust when keys of issuers are fetched; nil for those of the system.
    public var issuerAuthorities: String?
    /// How messages name ``issuerAuthorities``.
    package var issuerTrustSetting = "ServerConfiguration.issuerAuthorities"
    /// The pages of browsers that may connect to the server, besides its own. A page of any other origin is refused.
    public var allowedOrigins: [WebOrigin] = []
    /// Whether the dashboard is served at `/_/`, as a development server always does. What it shows takes a login whose
    /// user has the right `reports`.
    public var servesDashboard = false
    /// The certificate for `wss`; nil serves `ws`.
    public var certificate: Certificate?
    /// The name of this server in change events; nil for none.
    public var workerID: String?
    /// The server to which all sessions are handed over from the start, as by ``SyncServer/handOver(to:)``; nil serves
    /// them. For the old address of a server that has moved.
    public var handsOverTo: String?
    /// The maximum number of connections at a time.
    public var connectionCountMax = 100_000
    /// How long a peer may take to log in after it has connected. Default: 10 s.
    public var loginTimeout = Duration.seconds(10)
    /// The maximum number of connections at a time whose peers have not logged in. A quarter of them is reserved for
    /// addresses that have none.
    ///
    /// Further connections wait unserved, for at most ``loginTimeout``. When all places are taken, a connection that
    /// has made no progress for a second is closed, to make room for the newest. A connection that is sent away gets
    /// status 503 or close code 1013.
    public var pendingConnectionCountMax = 1_024
    /// As ``pendingConnectionCountMax``, for one address; of IPv6, for one network of 64 bits.
    public var pendingConnectionCountMaxPerAddress = 256
    /// The maximum number of bytes that may wait to be sent on a connection. A slower connection is closed, and its
    /// client resumes later.
    public var queueByteCountMax = 64 << 20
    /// How much one user, one address or one database may take.
    public var quotas = Quotas()
    /// Serves this network instead of sockets, for stores in the same process. The host is then only a name in the
    /// network, and port and certificate have no effect.
    public var loopback: LoopbackNetwork?
    /// Where log lines go; nil logs nothing.
    public var log: LogSink?
    /// Who keeps what somebody may have to answer for later, such as an ``AuditFile``; nil for nobody.
    public var auditLog: (any AuditReceiver)?
    /// Where `GET /metrics` is answered, without TLS and without a login; nil for nowhere. It tells numbers of the whole
    /// server: choose an address that only the monitoring reaches. On a development server it is a loopback address.
    public var metricsListen: Address?
    /// The backups that the server makes by itself; nil for none. See docs/backups.md.
    public var backups: ScheduledBackups?
    /// The folder to which the server copies the journals of its databases, so that they can be restored as they were at
    /// any time since a backup; nil for none. No other server may have it.
    public var archive: String?
    /// Who else is told about the server's work; nil for nobody.
    public var metrics: (any ServerMetrics)?

    /// What the operator of this machine may ask for by the socket `admin.sock` in the data folder; nil makes none.
    package var administration: Administration?
    /// Where the databases have their journals; nil if each has its own in its file.
    package var journals: (any JournalService)?
    /// When snapshots of replicas are made, and used.
    package var replicas = ReplicaPolicy()
    /// How long a database stays open without sessions, in microseconds.
    package var idleDatabaseTime: Int64 = 60_000_000
    package var now: @Sendable () -> Timestamp = { Timestamp(Date()) }
    /// A clock that only goes forward, in nanoseconds.
    package var uptime: @Sendable () -> Int64 = { MonotonicClock.now }
    package var random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    /// Calls back after a time.
    package var schedule: Schedule = scheduleInTime

    /// Makes a configuration. ``SyncServer`` checks it.
    ///
    /// - Parameters:
    ///   - dataFolder: the folder of the databases, created if it is missing; nil keeps them in memory.
    ///   - host: the name or address to listen at. A development server needs one of this machine's loopback addresses
    ///     (`localhost`, `::1`, `127.…`); another one where credentials travel needs a certificate, too.
    ///   - port: the port to listen at; 0 takes a free port, which `start()` returns.
    ///   - isDevelopment: whether everybody may log in. If not, set ``logins``, and ``rules`` or ``allowsEverything``.
    public init(dataFolder: String? = nil, host: String = "127.0.0.1", port: UInt16 = 9080, isDevelopment: Bool = false)
    {
        self.dataFolder = dataFolder
        self.host = host
        self.port = port
        self.isDevelopment = isDevelopment
    }
}
