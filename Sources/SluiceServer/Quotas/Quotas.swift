/// How much one user, one address or one database may take of a server, so that none takes it from the others.
///
/// A quota that is nil sets none. Those that keep one user or address from taking all places have defaults. A user is who
/// the login says; a session that logged in as nobody counts to its address.
public struct Quotas: Hashable, Sendable {
    /// The maximum number of connections at a time from one address; of IPv6, from one network of 64 bits. A further
    /// one is refused with status 429, and its client tries again later. Default: 10,000.
    public var connectionCountMaxPerAddress: Int? = 10_000
    /// The maximum number of open sessions of one user. A store has one session. A further one is refused, and its
    /// client tries again a minute later. Default: 10,000.
    public var sessionCountMaxPerUser: Int? = 10_000
    /// The maximum number of subscriptions of one user in one database, over all sessions. A further one is refused.
    public var subscriptionCountMaxPerUser: Int?
    /// How many operations one user may upload in a second, on average. Who uploads faster waits: the server reads no
    /// more of a connection until the time for what it has read is over. Nothing is refused or lost.
    public var operationRateMaxPerUser: Int?
    /// The maximum number of bytes that may wait to be sent to one user, in equal shares for the user's sessions. A
    /// connection with more is closed, and its client resumes later.
    public var queueByteCountMaxPerUser: Int?
    /// The maximum number of databases of a server. A further one is not made: whoever declares its first class is refused.
    /// Those that are there are served, however many. A server in memory does not count. Default: 1,000.
    public var databaseCountMax: Int? = 1_000
    /// The maximum size of a database's file, in bytes, without its write-ahead log; at least 1 MiB. A full database
    /// takes no writes until it is allowed more; clients keep theirs.
    public var databaseByteCountMax: Int?
    /// The most bytes of a database's log that are kept because a consumer has not handled them yet, whatever its age. The
    /// server warns when a consumer needs more than half of it; one that is farther behind begins anew. Default: 1 GiB.
    public var consumerLogByteCountMax: Int? = 1 << 30
    /// The maximum number of classes of a database. A declaration of more is refused.
    public var classCountMax: Int?
    /// The maximum number of properties of all classes of a database together. A declaration of more is refused.
    public var propertyCountMax: Int?

    /// Makes quotas with the defaults.
    public init() {}
}

extension Quotas {
    /// The smallest size that a database may be limited to, in bytes.
    package static let databaseByteCountMin = 1 << 20

    /// The counts, by name, without the size of a database.
    private var counts: [(name: String, value: Int?)] {
        [
            ("connectionCountMaxPerAddress", connectionCountMaxPerAddress),
            ("sessionCountMaxPerUser", sessionCountMaxPerUser),
            ("subscriptionCountMaxPerUser", subscriptionCountMaxPerUser),
            ("operationRateMaxPerUser", operationRateMaxPerUser),
            ("queueByteCountMaxPerUser", queueByteCountMaxPerUser),
            ("databaseCountMax", databaseCountMax), ("classCountMax", classCountMax),
            ("propertyCountMax", propertyCountMax), ("consumerLogByteCountMax", consumerLogByteCountMax),
        ]
    }

    /// The quotas that are set, for the log.
    var details: [(String, String)] {
        (counts + [("databaseByteCountMax", databaseByteCountMax)]).compactMap { quota in
            quota.value.map { (quota.name, "\($0)") }
        }
    }

    /// What is wrong with the quotas, for the message of an error; nil if they can be kept.
    var problem: String? {
        for case (let name, let count?) in counts where count < 1 {
            return "the quota \(name) is \(count); it is 1 or more, or nil for none"
        }
        if let size = databaseByteCountMax, size < Self.databaseByteCountMin {
            return "the quota databaseByteCountMax is \(size); it is \(Self.databaseByteCountMin) bytes or more"
        }
        return nil
    }
}
