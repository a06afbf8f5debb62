internal import FoundationEssentials
public import SluiceModel
public import SluiceTransport

/// How a server runs.
public struct ServerConfiguration: Sendable {
    /// A certificate chain and its key, as files in PEM form.
    public struct Certificate: Sendable, Hashable {
        /// The server's certificate, then those that lead to its authority.
        public var chainFile: String
        /// The private key of the first certificate, not encrypted.
        public var keyFile: String

        /// Nothing is read before the server starts.
        ///
        /// - Parameters:
        ///   - chainFile: the path of the chain.
        ///   - keyFile: the path of the key.
        public init(chainFile: String, keyFile: String) {
            self.chainFile = chainFile
            self.keyFile = keyFile
        }
    }

    /// The folder of the databases, one file each; nil keeps them in memory.
    public var dataFolder: String?
    /// A name or address to listen at.
    public var host: String
    /// The port to listen at; 0 takes a free one.
    public var port: UInt16
    /// Anonymous login, clients may add to the schema, loopback addresses only.
    public var isDevelopment: Bool
    /// Shown to clients, for `wss`; nil serves `ws`.
    public var certificate: Certificate?
    /// How change events name this server; nil for no name.
    public var workerID: String?
    /// The most connections at a time.
    public var connectionCountMax = 100_000
    /// How long a peer has to log in after it has connected. Default: 10 s.
    public var loginTimeout = Duration.seconds(10)
    /// The most connections at a time whose peers have not logged in; a quarter of them is kept for addresses that have
    /// none. More connections wait unserved, for ``loginTimeout`` at most. When all places are taken, a connection that
    /// has made no progress for a second gives its place up. Who is sent away gets status 503, or close code 1013.
    public var pendingConnectionCountMax = 1_024
    /// As ``pendingConnectionCountMax``, for one address; of IPv6, for one network of 64 bits.
    public var pendingConnectionCountMaxPerAddress = 256
    /// The most bytes that may wait for a connection to take them; a slower one is closed and resumes later.
    public var queueByteCountMax = 64 << 20
    /// Serves this network instead of sockets, for stores in the same process; the host is then only a name in it, and
    /// port and certificate mean nothing.
    public var loopback: LoopbackNetwork?
    /// Where log lines go; nil for nowhere.
    public var log: LogSink?

    /// How long a database stays open that has no sessions, in microseconds.
    package var idleDatabaseTime: Int64 = 60_000_000
    package var now: @Sendable () -> Timestamp = { Timestamp(Date()) }
    package var random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }

    /// A configuration that nothing has checked yet; ``SyncServer`` does.
    ///
    /// - Parameters:
    ///   - dataFolder: the folder of the databases, made if it is missing; nil keeps them in memory.
    ///   - host: a name or address to listen at; for a development server one of this machine's own (`localhost`, `::1`,
    ///     `127.…`).
    ///   - port: the port to listen at; 0 takes a free one, which `start()` returns.
    ///   - isDevelopment: takes everybody without login; the only way to run a server today.
    public init(dataFolder: String? = nil, host: String = "127.0.0.1", port: UInt16 = 9080, isDevelopment: Bool = false)
    {
        self.dataFolder = dataFolder
        self.host = host
        self.port = port
        self.isDevelopment = isDevelopment
    }
}
