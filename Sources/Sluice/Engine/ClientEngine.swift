package import SluiceModel
internal import SluiceQuery
package import SluiceStorage
internal import SluiceTransport
internal import SluiceViews
package import SluiceWire

/// A store's logic without threads, sockets or clocks: local writes, the session with the server, subscriptions, observers.
///
/// One thread at a time. The shell carries out the actions, and the simulator drives this very type.
package final class ClientEngine {
    package struct Options: Sendable {
        /// The database's name on the server; nil when the store syncs with nothing.
        package var databaseName: String?
        package var credentials: [SluiceWire.Credentials] = []
        package var agent = "sluice-swift"
        /// Whether this store only reads: it uploads nothing, and the server keeps no record of it.
        package var isReadOnly = false
        /// Whether the store ends with the process, so that the server need not know it any longer than that.
        package var isShortLived = false
        /// How often an idle connection is probed.
        package var heartbeat: Duration = .seconds(60)
        package var reconnectDelay: Duration = .seconds(1)
        package var reconnectDelayMax: Duration = .seconds(300)
        /// The most operations that may travel unacknowledged.
        package var inFlightOperationCountMax = 50_000
        /// The most bytes that may travel unacknowledged, about; a transaction is begun below it and sent whole.
        package var inFlightByteCountMax = 32 << 20
        /// The most operations, and bytes about, that transactions share a frame with.
        package var uploadOperationCountMax = 2_000
        package var uploadByteCountMax = 2 << 20
        /// How many changesets of one object make a backlog whose effect is kept while it is uploaded.
        package var backlogChangesetCountMin = 64
        /// The most members in one message of a list.
        package var listedMemberCountMax = 10_000
        /// The most dormant subscriptions that are remembered, so that observing them again resumes.
        package var dormantSubscriptionCountMax = 256
        /// The most members of subscriptions that digests are made of when a session is opened.
        package var digestObjectCountMax = 1_000

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
    /// What the server is asked to take into its schema.
    var declarations: Declarations
    /// Why the last session or attempt ended, until the server says something of objects again.
    package internal(set) var lastProblem: String?
    let subscriptions = ActiveSubscriptions()
    /// Objects whose acknowledged writes show although no image with them has come back, since no subscription that is
    /// complete has them. The store keeps the server's last image of each, for a subscription that resumes from there.
    var unconfirmed: Set<ObjectRef> = []
    /// How often a subscription was compared with the server's digest of it.
    package internal(set) var checkCount = 0
    /// How often a subscription turned out to differ from the server's digest of it, and was fetched anew.
    package internal(set) var mismatchCount = 0
    let hub = ObserverHub()
    let pendingEffects: PendingEffects
    var actions: [ClientAction] = []
    var uploadWaiters: [UInt64: (Result<Bool, SyncError>) -> Bool] = [:]
    var connectionWaiters: [UInt64: (Result<Bool, SyncError>) -> Bool] = [:]
    var reportWaiters: [UInt64: (Result<[UInt8], SyncError>) -> Void] = [:]
    /// Tells, before anybody else is told of the same commit, that the schema has grown.
    package var onSchemaGrowth: ((Schema) -> Void)?
    /// Tells that a session is open, by nil, or why one ended or did not come about and is tried for again.
    package var onSession: ((_ problem: String?) -> Void)?
    /// Tells about writes that the server refused.
    package var onRejection: ((WriteRejection) -> Void)?
    /// Refused writes that were taken back in the open transaction.
    var unreportedRejections: [WriteRejection] = []
    /// What was asked for within a transaction and cannot be part of it.
    private var afterTransaction: [(ClientEngine) throws -> Void] = []
    private var lastNumber: UInt64 = 0
    private var hasGrownSchema = false

    /// - Parameters:
    ///   - storage: opened, with the application's schema merged in.
    ///   - declared: the application's schema, which the server is to have too; nil for all that the store has.
    ///   - now: the wall clock.
    ///   - random: for the jitter of reconnecting.
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
        // The process ended with a session open: all that is here may have been sent.
        if try uploadMark == .open { try transaction(.local) { _ in try markUploads(.through(storage.lastSequence)) } }
    }

    private func findUnconfirmed() throws {
        unconfirmed = Set(try storage.objectsWithBaseImage.filter { try !storage.hasPending($0) })
    }

    package var schema: Schema { storage.schema }

    /// How many pending operations were read to show objects as they are with them, for tests of how the work grows.
    package var pendingReadCount: Int { pendingEffects.readCount }

    /// Whether an attempt to connect is under way.
    package var isConnecting: Bool { session.phase == .connecting }

    /// Whether this store has a server.
    package var syncs: Bool { options.databaseName != nil }

    /// A number that this engine has not given before.
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
                // All that is complete stands where the store does.
                if record.state == .complete { record.version = storage.syncState?.version ?? record.version }
                if record.state == .bootstrapping {
                    record.state = .pending
                    try storage.discardStaging(record.id)
                }
                try storage.updateSubscription(record)
            }
        }
    }

    /// Takes classes and properties in, inside a transaction.
    func merge(_ other: Schema, from side: String) throws {
        if try !storage.merge(other, sides: ("this store", side)).isEmpty { hasGrownSchema = true }
    }

    /// Runs `body` now or, while a transaction is open, as soon as that has ended, however it does.
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

    /// Runs `body` in one storage transaction, then tells observers what it changed.
    ///
    /// - Throws: ``StoreError/Code/insideWrite`` when a transaction is open.
    @discardableResult
    func transaction<Result>(_ origin: ChangeOrigin, _ body: (StoreTransaction) throws -> Result) throws -> Result {
        try checkOutsideTransaction()
        defer { if !afterTransaction.isEmpty { runAfterTransaction() } }
        let transaction = StoreTransaction(storage, isObserved: !hub.isEmpty)
        try storage.begin()
        let result: Result
        do {
            result = try body(transaction)
            try storage.commit()
        } catch {
            storage.rollback()
            hasGrownSchema = false
            unreportedRejections = []
            pendingEffects.removeAll()
            for record in storage.subscriptions { subscriptions[id: record.id]?.record = record }
            try findUnconfirmed()
            throw error
        }
        if hasGrownSchema {
            hasGrownSchema = false
            onSchemaGrowth?(schema)
        }
        try hub.publish(transaction, origin: origin, engine: self)
        return result
    }
}
