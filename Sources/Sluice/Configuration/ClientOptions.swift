package import SluiceModel
package import SluiceWire

/// How a client's engine works. Tests use smaller limits.
package struct ClientOptions: Sendable {
    /// The name of the database on the server; nil if the store has no server.
    package var databaseName: String?
    package var credentials: [WireCredentials] = []
    /// The values of `$client` in the server's rules.
    package var variables = ValueMap()
    /// Whether new credentials can be had when those expire.
    package var hasCredentialProvider = false
    package var agent = "sluice-swift"
    /// Whether the store only reads: it uploads nothing, and the server keeps no record of it.
    package var isReadOnly = false
    /// Whether the store ends with the process, so that the server can then remove its record.
    package var isShortLived = false
    /// What else the store wants of its session.
    package var wishes: SessionWishes = []
    /// How long a connection may be idle before it is probed.
    package var heartbeat: Duration = .seconds(60)
    package var reconnectDelay: Duration = .seconds(1)
    package var reconnectDelayMax: Duration = .seconds(300)
    /// The number of servers to choose from, and whether at random.
    package var serverCount = 1
    package var choosesServersAtRandom = false
    /// After how many failed attempts in a row syncing ends; nil for never.
    package var attemptCountMax: Int?
    /// Whether a lost connection ends those who wait.
    package var cancelsWaitsOnNonFatalErrors = false
    /// The maximum number of unacknowledged operations in transit.
    package var inFlightOperationCountMax = 50_000
    /// The approximate maximum of unacknowledged bytes in transit. A transaction that begins below it is sent
    /// whole.
    package var inFlightByteCountMax = 32 << 20
    /// The maximum number of operations, and the approximate maximum of bytes, in a frame that several transactions
    /// share.
    package var uploadOperationCountMax = 2_000
    package var uploadByteCountMax = 2 << 20
    /// How quickly the server has to answer uploads for what is written meanwhile to wait for that; see `UploadPace`.
    package var quickAnswerTime: Duration = .milliseconds(2)
    /// The number of changesets on one object from which they count as a backlog, whose combined effect is kept
    /// during the upload.
    package var backlogChangesetCountMin = 64
    /// The maximum number of members in one message of a list.
    package var listedMemberCountMax = DataLimits.standard.listedKeyCount
    /// The number of rows of a page from which they are stored together. Tests use others, to compare.
    package var bulkRowCountMin = 8
    /// The maximum number of dormant subscriptions that are kept, so that observing their queries again resumes.
    package var dormantSubscriptionCountMax = 256
    /// Whether objects that the user may not read any more are removed from the store.
    package var purgesRevokedObjects = true
    /// Which of them stay all the same; nil lets none stay.
    package var keepsRevokedObject: (@Sendable (Identity) -> Bool)?
    /// Whether values that the server has rejected stay visible here.
    package var keepsRejectedWrites = false
    /// What becomes of unsent writes when the server's history is another one, and whether the file is copied before.
    package var resetMode = ClientResetPolicy.Mode.recoverUnsynced
    package var copiesBeforeReset = false
    /// How much is kept of what nobody observes.
    package var cacheLimits = CacheLimits()
    /// If at most so many observers follow links in the same way, each is asked whether it has a result that leads to
    /// a changed object; of more, those that have it are looked up.
    package var askedObserverCountMax = 16
    /// How many results beyond the limit of an observed query are held at first; nil for as many as the limit, but at
    /// least 16 and at most 256.
    package var windowSurplus: Int?
    /// The maximum number of members, over all subscriptions, for which digests are made when a session opens.
    package var digestObjectCountMax = 1_000

    /// How large data may be. Tests use smaller ones.
    package var dataLimits = DataLimits.standard

    package init() {}

    /// Whether this store has a server.
    var syncs: Bool { databaseName != nil }

    /// What the store wants of its session, as the protocol says it.
    var sessionOptions: ClientMessage.Open.Options {
        var wanted: ClientMessage.Open.Options = isReadOnly ? .readOnly : isShortLived ? .shortLived : []
        if wishes.contains(.noToken) { wanted.insert(.withoutToken) }
        if wishes.contains(.existingDatabase) { wanted.insert(.existing) }
        if wishes.contains(.newDatabase) { wanted.insert(.making) }
        return wanted
    }
}
