internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// The subscriptions as the open session knows them: their numbers in it, and how each begins, resumes and ends there.
///
/// Where the results change because of that, the change is the server's: it relied on what is not here, refused a query,
/// or could not finish what it had begun.
final class SubscriptionRequests {
    private let storage: SQLiteClientStorage
    private let transactions: StoreTransactions
    private let session: SyncSession
    private let schema: SchemaAgreement
    private let active: ActiveSubscriptions
    private let digests: SubscriptionDigests
    private let images: ObjectImages
    private let waiters: StatusWaiters
    private let faults: FaultRecorder
    private let digestObjectCountMax: Int
    private let now: () -> Timestamp
    private var lastNumber: UInt64 = 0
    /// The subscriptions that were requested in this session, by their numbers in it.
    private var requested: [UInt64: Subscription] = [:]
    /// The subscriptions that have the members of others, by the numbers of these, until the server has answered: what
    /// commits bring to the one they bring to the other as well.
    private var growing: [UInt64: [Subscription]] = [:]
    /// For how many more members digests may be made, so that opening a session costs little.
    private var digestObjectCountLeft = 0

    init(
        _ storage: SQLiteClientStorage, _ transactions: StoreTransactions, _ session: SyncSession,
        _ schema: SchemaAgreement, _ active: ActiveSubscriptions, _ digests: SubscriptionDigests,
        _ images: ObjectImages, _ waiters: StatusWaiters, faults: FaultRecorder, options: ClientOptions,
        now: @escaping () -> Timestamp
    ) {
        self.storage = storage
        self.transactions = transactions
        self.session = session
        self.schema = schema
        self.active = active
        self.digests = digests
        self.images = images
        self.waiters = waiters
        self.faults = faults
        digestObjectCountMax = options.digestObjectCountMax
        self.now = now
    }

    /// The subscription with a number in this session.
    func subscription(_ number: UInt64) -> Subscription? { requested[number] }

    /// The subscriptions that a commit concerns which names a number of this session.
    func subscriptions(concernedBy number: UInt64) -> [Subscription] {
        (requested[number].map { [$0] } ?? []) + (growing[number] ?? [])
    }

    /// Notes that the server has answered a request: a subscription that has the members of another is one of its own.
    func noteAnswer(to subscription: Subscription) {
        if growing.isEmpty { return }
        for number in growing.keys {
            growing[number]?.removeAll { $0 === subscription }
            if growing[number]?.isEmpty ?? false { growing[number] = nil }
        }
    }

    // MARK: The session

    /// Requests all subscriptions in a session that has just opened.
    func beginSession() throws {
        digestObjectCountLeft = digestObjectCountMax
        let subscriptions = active.synced.sorted { $0.record.id < $1.record.id }
        let messages = try subscriptions.filter(isServed).map(message)
        active.awaitsCatchUp = active.completeCount > 0
        if !messages.isEmpty { session.sendTogether(messages[...]) }
        for subscription in subscriptions where !isServed(subscription) { try refuse(subscription) }
    }

    /// Whether the server knows all that the query asks for.
    private func isServed(_ subscription: Subscription) -> Bool {
        session.features.contains(.aggregates)
            || !subscription.query.hasTotal && subscription.query.aggregates == nil
    }

    /// Fails a subscription that this server could not serve, without asking it.
    private func refuse(_ subscription: Subscription) throws {
        _ = try message(for: subscription)
        guard let number = subscription.wireID else { return }
        try fail(
            .init(
                session: session.number, subscription: number, code: .invalidQuery,
                message: "the server is of a version that does not know TOTAL and AGGREGATE", position: nil))
    }

    /// Forgets the numbers, because the connection has ended. Bootstraps that were interrupted start anew in the next
    /// session.
    func endSession() {
        for subscription in active.synced {
            let effect = subscription.connectionLost()
            if effect != .none { abandon(subscription, effect) }
        }
        active.awaitsCatchUp = false
        requested = [:]
        growing = [:]
        lastNumber = 0
    }

    private func abandon(_ subscription: Subscription, _ effect: Subscription.Effect) {
        faults.recording("a bootstrap could not be put off") {
            try transactions.run(.catchUp(acceptedAt: now())) { try subscription.carryOut(effect, in: storage, $0) }
        }
        waiters.notify(of: subscription)
    }

    // MARK: One subscription

    /// Requests a subscription, if a session is open.
    func request(_ subscription: Subscription) throws {
        guard session.isActive, !subscription.isLocal else { return }
        guard isServed(subscription) else { return try refuse(subscription) }
        session.send([try message(for: subscription)])
    }

    /// Requests everything of a subscription again that was requested before.
    func requestAnew(_ subscription: Subscription) throws {
        guard let number = subscription.wireID else { return }
        try carryOut(subscription.restart(), of: subscription)
        let message = try message(for: subscription)
        session.send([.unsubscribe(session: session.number, subscription: number), message])
        waiters.notify(of: subscription)
    }

    /// Ends a subscription in the session.
    func end(_ subscription: Subscription) {
        guard let number = subscription.wireID else { return }
        requested[number] = nil
        noteAnswer(to: subscription)
        if session.isActive { session.send([.unsubscribe(session: session.number, subscription: number)]) }
    }

    /// Notes that the server cannot serve a subscription.
    func fail(_ error: ServerMessage.SubscriptionError) throws {
        guard let subscription = requested[error.subscription] else { return }
        noteAnswer(to: subscription)
        let effect = try subscription.refuse(because: SyncError(SyncError.Code(error.code), error.message))
        try transactions.run(.catchUp(acceptedAt: now())) { transaction in
            if error.code == .permissionDenied { subscription.forgetVersion() }
            try subscription.carryOut(effect, in: storage, transaction)
            if error.code == .permissionDenied { try forgetMembers(of: subscription, transaction) }
            transaction.noteRebuild(subscription.record.id)
        }
        waiters.notify(of: subscription)
    }

    /// Removes what only this subscription has brought, because its query may not be asked any more: nobody tells
    /// whether the user may read it.
    private func forgetMembers(of subscription: Subscription, _ transaction: StoreTransaction) throws {
        let id = subscription.record.id
        for object in try storage.exclusiveMembers(of: id) where try !storage.hasPending(object) {
            try images.evict(object, reason: .permission, transaction)
        }
        try storage.beginStaging(id)
        _ = try storage.finishStaging(id)
    }

    /// Makes the message that starts or resumes a subscription. For a start it also begins the staging of the
    /// bootstrap.
    private func message(for subscription: Subscription) throws -> ClientMessage {
        lastNumber += 1
        let number = lastNumber
        if let former = subscription.wireID { requested[former] = nil }
        requested[number] = subscription
        let storeVersion = storage.syncState?.version ?? 0
        // A complete subscription is at the store's version.
        let version = subscription.isComplete ? storeVersion : subscription.record.version
        let canResume = version > 0
        let basis = canResume ? nil : try grow(subscription)
        let effect = subscription.request(as: number, canResume: canResume || basis != nil, at: storeVersion)
        if effect != .none { try carryOut(effect, of: subscription) }
        return .subscribe(
            .init(
                session: session.number, subscription: number, query: subscription.query.canonicalText,
                resume: canResume ? resume(subscription, at: version) : nil, basis: basis))
    }

    /// Gives a subscription the members of a smaller one, if there is one that the server can go on from.
    ///
    /// - Returns: the number of the other.
    private func grow(_ subscription: Subscription) throws -> UInt64? {
        guard session.features.contains(.aggregates), subscription.phase == .unrequested(.members),
            let basis = active.basis(of: subscription), let number = basis.wireID
        else { return nil }
        let (from, to) = (basis.record.id, subscription.record.id)
        // What it has from before would be taken for what the other has.
        guard !subscription.record.hasHoles, storage.memberCount(of: to, role: .root) == 0,
            storage.memberCount(of: to, role: .linked) == 0
        else { return nil }
        try transactions.run(.catchUp(acceptedAt: now())) { transaction in
            for role in MemberRole.allCases {
                var members: [ObjectRef] = []
                try storage.forEachMember(of: from, role: role) { object in
                    members.append(object)
                    return true
                }
                for object in members where try storage.addMember(object, role: role, to: to) {
                    transaction.noteMembership(object, of: to)
                }
            }
        }
        growing[number, default: []].append(subscription)
        return number
    }

    /// Does what a transition asks that changes how the query is answered.
    private func carryOut(_ effect: Subscription.Effect, of subscription: Subscription) throws {
        try transactions.run(.catchUp(acceptedAt: now())) { transaction in
            try subscription.carryOut(effect, in: storage, transaction)
            transaction.noteRebuild(subscription.record.id)
        }
    }

    // MARK: Resuming

    /// The state of a subscription, from which the server may resume it.
    private func resume(_ subscription: Subscription, at version: UInt64) -> ClientMessage.Resume {
        let counts = MemberRole.allCases.map { storage.memberCount(of: subscription.record.id, role: $0) }
        let count = counts.reduce(0, +)
        var resume = ClientMessage.Resume(
            version: version, queryHash: subscription.query.hash, memberCount: UInt64(count),
            isWhole: !subscription.record.hasHoles)
        // For a query without a limit, the server makes no digest when a subscription resumes.
        if subscription.query.isPartial || subscription.query.object != nil, count <= digestObjectCountLeft {
            digestObjectCountLeft -= count
            faults.recording("a digest could not be made") { resume.digest = try digests.digest(of: subscription) }
        }
        return resume
    }

    /// Lists a subscription's members to the server, which then sends the differences. They are staged on a copy of the
    /// membership.
    func listMembers(of number: UInt64) throws {
        // The subscription may have ended while the request was in transit.
        guard let subscription = requested[number] else { return }
        let version = storage.syncState?.version ?? 0
        try carryOut(try subscription.receiveRequestForMembers(at: version), of: subscription)
        try sendMembers(of: subscription, number)
        waiters.notify(of: subscription)
    }

    private func sendMembers(of subscription: Subscription, _ number: UInt64) throws {
        let countMax = session.limits.listedMemberCountMax
        let map = schema.map
        // The subscription's version is sent, since a row may have a later version without all properties of this
        // subscription.
        let version = subscription.record.version
        var content = ObjectBlock()
        var count = 0
        func sendPart(isContinued: Bool) {
            session.send([
                .members(
                    .init(
                        session: session.number, subscription: number, isContinued: isContinued,
                        content: content))
            ])
            session.flush()
            content = ObjectBlock()
            count = 0
        }
        for role in MemberRole.allCases {
            try storage.forEachMember(of: subscription.record.id, role: role) { object in
                guard let object = map?.toServer(object) else { return true }
                if count == countMax { sendPart(isContinued: true) }
                content.append(object, version: version, role: role == .root ? .root : .linked)
                count += 1
                return true
            }
        }
        sendPart(isContinued: false)
    }
}
