package import SluiceModel
package import SluiceStorage
internal import SluiceWire

/// The logic of a store without threads, sockets or clocks: events go in, actions come out.
///
/// The engine leads each event through its parts, which keep the state and do not know each other's: the session
/// carries messages, the outbox what was written here, the applier what the server sends, the subscriptions what is
/// wanted, the observations who is told. Only one thread at a time may use it. `StoreCore` carries out its actions; the
/// simulator drives this same type.
package final class ClientEngine {
    let storage: SQLiteClientStorage
    package let options: ClientOptions
    let log: LogSink?
    let faults: FaultRecorder
    let transactions: StoreTransactions
    /// The wall clock.
    let now: () -> Timestamp
    let session: SyncSession
    let schemas: SchemaAgreement
    let rejected: StoredRejections
    let images: ObjectImages
    let active = ActiveSubscriptions()
    let offers: KeptObjectOffers
    let subscriptions: SubscriptionHolders
    let requests: SubscriptionRequests
    let checks: DigestChecks
    let statusWaiters: StatusWaiters
    let outbox: Outbox
    let resets: ClientResets
    private let retention: CacheRetention
    private let applier: Applier
    var inbox: FrameInbox
    /// The context that the server named for the session that it opens.
    var openingContext: ServerMessage.Context?
    let observations: Observations
    private let meter: DownloadMeter
    let progress: ProgressWatches
    let waiters = SyncWaiters()
    let serverRequests: ServerRequests
    let privileges: PrivilegeAnswers
    let messages: MessageListeners
    let transfers: TransferReports
    /// Whether syncing is already stopping for good, so that a failure on the way does not stop it again.
    var isFailing = false
    /// Called when the schema has grown, before anybody else learns of the same commit.
    package var onSchemaGrowth: ((Schema) -> Void)?
    /// Called with nil when a session has opened, and with a reason when a session or an attempt has ended and will be
    /// tried again.
    package var onSession: ((_ problem: String?) -> Void)?
    /// Called with what syncing does, before those who wait for it or observe are told what it means for them.
    package var onStatus: ((SessionStatus) -> Void)?
    /// Called for each write that the server rejected.
    package var onRejection: ((WriteRejection) -> Void)? {
        get { outbox.onRejection }
        set { outbox.onRejection = newValue }
    }

    /// - Parameters:
    ///   - storage: an open storage that contains the application's schema.
    ///   - declared: the application's schema, to be declared to the server; nil for the store's whole schema.
    ///   - now: the wall clock.
    ///   - random: makes the random numbers for the jitter of reconnecting.
    package init(
        storage: SQLiteClientStorage, declared: Schema? = nil, options: ClientOptions = ClientOptions(),
        now: @escaping () -> Timestamp, random: @escaping () -> UInt64, log: LogSink? = nil
    ) throws {
        self.storage = storage
        self.options = options
        self.log = log
        self.now = now
        faults = FaultRecorder(log: log)
        transactions = StoreTransactions(storage, faults: faults)
        session = SyncSession(options, random: random, log: log)
        schemas = SchemaAgreement(storage, declared: declared ?? storage.schema)
        let acknowledgements = Acknowledgements()
        rejected = try StoredRejections(storage)
        images = try ObjectImages(storage, acknowledgements, rejected, options: options)
        let digests = SubscriptionDigests(storage, schemas, images)
        statusWaiters = StatusWaiters(session, active)
        requests = SubscriptionRequests(
            storage, transactions, session, schemas, active, digests, images, statusWaiters, faults: faults,
            options: options, now: now)
        checks = DigestChecks(storage, requests, digests, active, log: log)
        offers = KeptObjectOffers(storage, session, schemas, active, faults: faults, options: options)
        subscriptions = SubscriptionHolders(
            storage, transactions, session, active, requests, images, offers, options: options, now: now)
        transfers = TransferReports(storage)
        outbox = Outbox(
            storage, transactions, session, schemas, images, active, acknowledgements, waiters, offers, rejected,
            transfers, faults: faults,
            options: options, now: now, random: random, log: log)
        resets = try ClientResets(storage, options: options, now: now)
        retention = CacheRetention(storage, transactions, active, images, options: options, now: now)
        applier = Applier(
            storage: storage, transactions: transactions, schema: schemas, images: images, active: active,
            requests: requests, outbox: outbox, options: options, now: now)
        inbox = FrameInbox(options.dataLimits)
        observations = Observations(storage, session, active, options: options, now: now, log: log)
        meter = DownloadMeter(requests)
        progress = ProgressWatches(session, active, outbox, meter)
        serverRequests = ServerRequests(session)
        privileges = PrivilegeAnswers(serverRequests)
        messages = MessageListeners(session, serverRequests, log: log)
        images.willEvict = { [active] in try active.noteLoss(of: $0, in: storage) }
        transactions.delegate = self
        faults.onLastingFault = { [unowned self] in fail($0) }
        session.onUnsendable = { [unowned self] in fail($0) }
        try subscriptions.putAllToSleep()
        try outbox.recover()
    }

    package var schema: Schema { storage.schema }

    /// Whether this store has a server.
    package var syncs: Bool { options.syncs }

    /// The actions since the last call, for the shell to carry out.
    package func takeActions() -> [ClientAction] { session.takeActions() }

    /// Called within a turn when there are actions that need not wait for its end.
    package var onFlush: (() -> Void)? {
        get { session.onFlush }
        set { session.onFlush = newValue }
    }

    // MARK: A local write

    /// Runs a local write transaction: either all of it is stored and queued for upload, or nothing.
    package func write<Result>(_ body: (LocalWriter) throws -> Result) throws -> Result {
        passTime()
        return try outbox.write(body)
    }

    /// Removes cached objects beyond the limits of the configuration.
    ///
    /// - Returns: how many objects were removed.
    @discardableResult
    package func sweepCache() throws -> Int { try retention.sweep() }

    // MARK: A frame of the server

    /// Handles frames from the server, in order of arrival.
    package func receive(_ frames: [[UInt8]]) {
        defer { noteTimeSource() }
        passTime()
        do {
            for frame in frames {
                guard session.phase.isListening else { return }
                session.noteFrame(now: now())
                let messages = try inbox.messages(of: frame).filter { $0.session == 0 || $0.session == session.number }
                meter.note(messages, byteCount: frame.count)
                if active.awaitsCatchUp || !inbox.canShare(with: messages) { try applyContent() }
                for message in messages {
                    // A previous message may have ended the session.
                    guard session.phase.isListening else { return }
                    if case .context(let context) = message, !session.isActive {
                        openingContext = context
                        continue
                    }
                    if inbox.add(message) { continue }
                    try applyContent()
                    try receive(message)
                }
            }
            try applyContent()
            try endResetIfCaughtUp()
        } catch let error as WireError {
            abandonConnection("the server sent a frame that cannot be read: \(error.message)")
        } catch let error as SchemaError {
            fail(SyncError(.schema, error.message))
        } catch let error as StorageError where error.isLasting {
            fail(SyncError(.storage, error.message))
        } catch let error as SyncError where error.code == .protocolViolation {
            abandonConnection("the server has not followed the protocol: \(error.message)")
        } catch {
            abandonConnection("what the server sent could not be stored: \(error)")
        }
    }

    /// Stores the content that has arrived, tells those who wait for it, and answers the server.
    private func applyContent() throws {
        let content = inbox.takeContent()
        guard !content.isEmpty else { return }
        session.noteContent()
        for part in content {
            switch part {
            case .commit(let commit): storage.storeClock.note(commit.header.acceptedAt)
            case .complete(let complete): storage.storeClock.note(complete.acceptedAt)
            case .page, .rejected, .context, .withdrawn: break
            }
        }
        guard schemas.map != nil else { throw SyncError(.protocolViolation, "objects before the session is open") }
        if outbox.postpones(content) { return outbox.pump() }
        for subscription in try applier.apply(content) { statusWaiters.notify(of: subscription) }
        outbox.finishRetiring()
        try checks.check(content)
        let pageCount = content.count(where: \.isPage)
        if pageCount > 0 { session.send([.credit(session: session.number, pages: UInt64(pageCount))]) }
        for part in content {
            switch part {
            case .context:
                privileges.forget()
                try offers.contextChanged()
            case .withdrawn(let withdrawn): offers.answered(withdrawn.request)
            case .page, .complete, .commit, .rejected: break
            }
        }
        offers.pump()
        outbox.pump()
    }

    private func receive(_ message: ServerMessage) throws {
        switch message {
        case .hello(let reply): try greeted(reply)
        case .opened(let opened): try self.opened(opened)
        case .schema(_, let schema): try schemaGrew(schema)
        case .subscriptionError(let error):
            try requests.fail(error)
            if let failed = requests.subscription(error.subscription) { try offers.add(membersOf: failed.record.id) }
            offers.pump()
            try outbox.retire()
        case .listMembers(_, let subscription):
            try requests.listMembers(of: subscription)
            try outbox.retire()
        case .login(let login): session.learn(login, now: now())
        case .digest(let digest): if !inbox.awaitsParts { try checks.check(digest) }
        case .error(let failure): try failed(failure)
        case .moved(let moved): self.moved(to: moved.url)
        case .message(let message): messages.receive(message)
        case .report(_, let request, let json): serverRequests.answer(request, .success(json))
        case .reportError(let failure):
            let error = SyncError(SyncError.Code(failure.code), failure.message)
            serverRequests.answer(failure.request, .failure(error))
        case .page, .complete, .commit, .rejected, .context, .withdrawn, .places: break
        }
    }
}
