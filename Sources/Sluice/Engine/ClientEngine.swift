package import SluiceModel
internal import SluiceQuery
package import SluiceStorage
internal import SluiceTransport
internal import SluiceViews
package import SluiceWire

/// The logic of a store without threads, sockets or clocks: local writes, the session with the server, subscriptions,
/// observers.
///
/// Only one thread at a time may use it. `StoreCore` carries out its actions; the simulator drives this same type.
package final class ClientEngine {
    package struct Options: Sendable {
        /// The name of the database on the server; nil if the store has no server.
        package var databaseName: String?
        package var credentials: [SluiceWire.Credentials] = []
        package var agent = "sluice-swift"
        /// Whether the store only reads: it uploads nothing, and the server keeps no record of it.
        package var isReadOnly = false
        /// Whether the store ends with the process, so that the server can then remove its record.
        package var isShortLived = false
        /// How long a connection may be idle before it is probed.
        package var heartbeat: Duration = .seconds(60)
        package var reconnectDelay: Duration = .seconds(1)
        package var reconnectDelayMax: Duration = .seconds(300)
        /// The maximum number of unacknowledged operations in transit.
        package var inFlightOperationCountMax = 50_000
        /// The approximate maximum of unacknowledged bytes in transit. A transaction that begins below it is sent
        /// whole.
        package var inFlightByteCountMax = 32 << 20
        /// The maximum number of operations, and the approximate maximum of bytes, in a frame that several transactions
        /// share.
        package var uploadOperationCountMax = 2_000
        package var uploadByteCountMax = 2 << 20
        /// The number of changesets on one object from which they count as a backlog, whose combined effect is kept
        /// during the upload.
        package var backlogChangesetCountMin = 64
        /// The maximum number of members in one message of a list.
        package var listedMemberCountMax = DataLimits.standard.listedKeyCount
        /// The number of rows of a page from which they are stored together. Tests use others, to compare.
        package var bulkRowCountMin = 8
        /// The maximum number of dormant subscriptions that are kept, so that observing their queries again resumes.
        package var dormantSubscriptionCountMax = 256
        /// If at most so many observers follow links in the same way, each is asked whether it has a result that leads to
        /// a changed object; of more, those that have it are looked up.
        package var askedObserverCountMax = 16
        /// The maximum number of members, over all subscriptions, for which digests are made when a session opens.
        package var digestObjectCountMax = 1_000

        /// How large data may be. Tests use smaller ones.
        package var dataLimits = DataLimits.standard

        package init() {}
    }

    let storage: any ClientStorage
    package let options: Options
    let now: () -> Timestamp
    let random: () -> UInt64
    let log: LogSink?
    var clock: HybridClock
    var backoff: ReconnectBackoff

    var session = SyncSession()
    /// The classes to declare to the server.
    var declarations: Declarations
    /// The transactions over which the server may have ended the connection.
    var quarantine = UploadQuarantine()
    /// Why the last session or attempt ended; nil once the server has sent content again.
    package internal(set) var lastProblem: String?
    let subscriptions = ActiveSubscriptions()
    /// Objects that show acknowledged writes although no image that includes them has arrived, since no complete
    /// subscription has the objects. The store keeps the server's last image of each, for a subscription that resumes
    /// from it.
    var unconfirmed: Set<ObjectRef> = []
    /// How many times a subscription was compared with the server's digest.
    package internal(set) var checkCount = 0
    /// How many times a subscription differed from the server's digest and was fetched anew.
    package internal(set) var mismatchCount = 0
    let hub = ObserverHub()
    let pendingEffects: PendingEffects
    var actions: [ClientAction] = []
    var uploadWaiters: [UInt64: (Result<Bool, SyncError>) -> Bool] = [:]
    var connectionWaiters: [UInt64: (Result<Bool, SyncError>) -> Bool] = [:]
    var reportWaiters: [UInt64: (Result<[UInt8], SyncError>) -> Void] = [:]
    /// Called when the schema has grown, before anybody else learns of the same commit.
    package var onSchemaGrowth: ((Schema) -> Void)?
    /// Called with nil when a session has opened, and with a reason when a session or an attempt has ended and will be
    /// tried again.
    package var onSession: ((_ problem: String?) -> Void)?
    /// Called for each write that the server rejected.
    package var onRejection: ((WriteRejection) -> Void)?
    /// The rejected writes that the open transaction has reverted.
    var unreportedRejections: [WriteRejection] = []
    /// Work that was requested within a transaction and must happen after it.
    private var afterTransaction: [(ClientEngine) throws -> Void] = []
    /// Whether syncing is already stopping for good, so that a failure on the way does not stop it again.
    var isFailing = false
    private var lastNumber: UInt64 = 0
    /// Whether ``ClientEvent/settle`` will come.
    var isSettlingScheduled = false
    var hasGrownSchema = false
    /// Whether properties had other names before, by which queries may still be known.
    var hasRenamedProperties = false

    /// - Parameters:
    ///   - storage: an open storage that contains the application's schema.
    ///   - declared: the application's schema, to be declared to the server; nil for the store's whole schema.
    ///   - now: the wall clock.
    ///   - random: makes the random numbers for the jitter of reconnecting.
    package init(
        storage: any ClientStorage, declared: Schema? = nil, options: Options = Options(),
        now: @escaping () -> Timestamp,
        random: @escaping () -> UInt64, log: LogSink? = nil
    ) throws {
        self.storage = storage
        self.options = options
        self.now = now
        self.random = random
        self.log = log
        pendingEffects = PendingEffects(storage, changesetCountMin: options.backlogChangesetCountMin)
        declarations = Declarations(declared ?? storage.schema)
        clock = HybridClock(last: storage.clock)
        backoff = ReconnectBackoff(initial: options.reconnectDelay, maximum: options.reconnectDelayMax)
        try makeSubscriptionsDormant()
        try findUnconfirmed()
        // The process ended with an open session, so everything in the outbox may have been sent.
        if try uploadMark == .open { try transaction(.local) { _ in try markUploads(.through(storage.lastSequence)) } }
    }

    private func findUnconfirmed() throws {
        unconfirmed = Set(try storage.objectsWithBaseImage.filter { try !storage.hasPending($0) })
    }

    package var schema: Schema { storage.schema }

    /// How many pending operations were read to compute visible rows. Tests use it to see how this work grows.
    package var pendingReadCount: Int { pendingEffects.readCount }

    /// How much work observing has cost. Tests use it to see how this work grows.
    package var observationWork: ObservationWork { hub.work }

    /// Whether an attempt to connect is running.
    package var isConnecting: Bool { session.phase == .connecting }

    /// Whether this store has a server.
    package var syncs: Bool { options.databaseName != nil }

    /// Returns a number that this engine has not returned before.
    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// The actions since the last call, for the shell to carry out.
    package func takeActions() -> [ClientAction] {
        defer { actions = [] }
        return actions
    }

    /// Marks every stored subscription as dormant, because an earlier process's holders ended with it.
    private func makeSubscriptionsDormant() throws {
        let awake = storage.subscriptions.filter { !$0.isDormant }
        guard !awake.isEmpty else { return }
        try transaction(.local) { _ in
            for var record in awake {
                record.isDormant = true
                // Complete subscriptions are at the store's version.
                if record.state == .complete { record.version = storage.syncState?.version ?? record.version }
                if record.state == .bootstrapping {
                    record.state = .pending
                    try storage.discardStaging(record.id)
                }
                try storage.updateSubscription(record)
            }
        }
    }

    /// Runs `body` now or, while a transaction is open, as soon as the transaction has ended, with or without success.
    func outsideTransaction(_ body: @escaping (ClientEngine) throws -> Void) throws {
        guard storage.isInTransaction else { return try body(self) }
        afterTransaction.append(body)
    }

    func checkOutsideTransaction() throws {
        guard !storage.isInTransaction else {
            throw StoreError(.insideWrite, "this cannot be done within a write; do it before or after")
        }
    }

    private func runAfterTransaction() {
        let bodies = afterTransaction
        afterTransaction = []
        for body in bodies { recording("what a write asked for could not be done after it") { try body(self) } }
    }

    /// Runs `body` in one storage transaction, and then notifies the observers of its changes.
    ///
    /// - Throws: ``StoreError/Code/insideWrite`` when a transaction is already open.
    @discardableResult
    func transaction<Result>(_ origin: ChangeOrigin, _ body: (StoreTransaction) throws -> Result) throws -> Result {
        try checkOutsideTransaction()
        defer { if !afterTransaction.isEmpty { runAfterTransaction() } }
        let transaction = StoreTransaction(storage, isObserved: !hub.isEmpty)
        try storage.begin()
        let result: Result
        do {
            try storePostponed()
            result = try body(transaction)
            try storage.commit()
        } catch {
            storage.rollback()
            unreportedRejections = []
            pendingEffects.removeAll()
            for record in storage.subscriptions { subscriptions.restore(record) }
            if hasGrownSchema { rebindQueries() }
            hasGrownSchema = false
            try findUnconfirmed()
            throw error
        }
        session.postponedVersion = nil
        if hasGrownSchema {
            hasGrownSchema = false
            onSchemaGrowth?(schema)
        }
        hub.publish(transaction, origin: origin, engine: self)
        return result
    }
}
