internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Asks a server with rules which of the objects that this store keeps without a subscription its user may not read any
/// more: those of dormant memberships, and cached objects.
///
/// Its life: it is off until a session opens in which something may be hidden, then at rest or waiting for an answer, and
/// off again with the session. What is kept is offered when a session opens, when the user's context changes, and when a subscription or an upload
/// leaves something behind. One offer is under way at a time. ``FrameApplier`` removes what the answers name, and what
/// the server names later of what was offered.
final class KeptObjectOffers {
    private enum Phase: Equatable {
        /// There is no session, the server has no rules, or this store keeps what may not be read.
        case off
        /// No offer is under way.
        case atRest
        /// The server has not answered the offer with a number.
        case asking(UInt64)
    }

    /// The most objects of one offer, and of the pending ones that are offered when a session opens.
    private static let countMax = 1_000
    private static let pendingCountMax = 10_000

    private let storage: SQLiteClientStorage
    private let session: SyncSession
    private let schema: SchemaAgreement
    private let active: ActiveSubscriptions
    private let faults: FaultRecorder
    private let isWanted: Bool
    private var phase = Phase.off
    /// What is to be offered, in no particular order.
    private var waiting: [ObjectRef] = []
    private var lastNumber: UInt64 = 0

    init(
        _ storage: SQLiteClientStorage, _ session: SyncSession, _ schema: SchemaAgreement,
        _ active: ActiveSubscriptions,
        faults: FaultRecorder, options: ClientOptions
    ) {
        self.storage = storage
        self.session = session
        self.schema = schema
        self.active = active
        self.faults = faults
        isWanted = options.purgesRevokedObjects
    }

    /// Whether objects that no subscription holds any more are to be offered.
    var isOn: Bool { phase != .off }

    // MARK: The session

    /// - Parameter hasContext: whether the server has named a context, so that something may be hidden.
    func beginSession(hasContext: Bool) throws {
        guard hasContext, isWanted else { return }
        phase = .atRest
        try offerPending()
        try offerAll()
    }

    func endSession() {
        phase = .off
        waiting = []
        lastNumber = 0
    }

    /// Offers everything again, because the user may read something else.
    func contextChanged() throws {
        guard session.isActive, isWanted else { return }
        if phase == .off { phase = .atRest }
        try offerAll()
    }

    /// Notes the answer to an offer, so that the next one goes out.
    func answered(_ request: UInt64) {
        if phase == .asking(request) { phase = .atRest }
        pump()
    }

    // MARK: Offering

    /// Offers objects that no active subscription holds any more. What is not here, or has pending writes, is left out.
    func add(_ objects: [ObjectRef]) {
        if isOn { waiting += objects }
    }

    /// Offers the members of a subscription that the server does not serve.
    func add(membersOf subscription: UInt64) throws {
        guard isOn else { return }
        for role in MemberRole.allCases {
            try storage.forEachMember(of: subscription, role: role) { object in
                waiting.append(object)
                return true
            }
        }
    }

    private func offerAll() throws {
        waiting = try storage.schema.classes.indices.flatMap { try storage.unheldObjects(ofClass: $0) }
        waiting += storage.keptObjects
        pump()
    }

    /// Offers objects with pending writes before those are uploaded, whoever holds the objects. A write of what is not
    /// there for the user has no effect, and so this store can report it.
    private func offerPending() throws {
        guard storage.outboxCount > 0 else { return }
        var pending = try storage.pendingObjects.prefix(Self.pendingCountMax)
        while !pending.isEmpty {
            let part = pending.prefix(countMax)
            pending = pending.dropFirst(part.count)
            send(part.compactMap { schema.map?.toServer($0) })
        }
    }

    private var countMax: Int { min(Self.countMax, session.limits.listedMemberCountMax) }

    /// Sends the next offer, unless one is under way.
    func pump() {
        guard phase == .atRest, session.isActive, !waiting.isEmpty, !active.awaitsCatchUp,
            !storage.isInTransaction
        else { return }
        faults.recording("what is cached could not be offered") {
            var objects: [ObjectRef] = []
            while objects.count < countMax, let object = waiting.popLast() {
                let isKept = storage.keptObjects.contains(object)
                guard try storage.isPresent(object) && (isKept || !storage.hasPending(object)) else { continue }
                if let object = schema.map?.toServer(object) { objects.append(object) }
            }
            guard !objects.isEmpty else { return }
            send(objects)
            phase = .asking(lastNumber)
        }
    }

    private func send(_ objects: [ObjectRef]) {
        guard !objects.isEmpty else { return }
        lastNumber += 1
        var content = ObjectBlock()
        for object in objects { content.append(object, version: 0, role: .member) }
        session.send([.cached(.init(session: session.number, request: lastNumber, content: content))])
    }
}
