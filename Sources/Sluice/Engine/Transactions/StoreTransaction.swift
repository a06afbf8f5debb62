internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// A transaction on the store. It writes through to the storage, and remembers the previous state of every object.
final class StoreTransaction: TransactionTarget {
    private let storage: SQLiteClientStorage
    /// Whether anybody needs the changes.
    private let isObserved: Bool
    /// The objects that the transaction may have changed, in the order of their first change. Empty unless somebody
    /// observes.
    private(set) var firstStates: [FirstState] = []
    private var positions: [ObjectRef: Int] = [:]
    /// Objects on which operations may have ceased to be pending.
    private(set) var settled: [ObjectRef] = []
    /// Why objects left the store, if more is known than that they left.
    private(set) var reasons: [ObjectRef: RemovalReason] = [:]
    /// Objects whose membership changed, by subscription.
    private(set) var membershipChanges: [UInt64: Set<ObjectRef>] = [:]
    /// Why members left their subscriptions, by subscription.
    private(set) var departureReasons: [UInt64: [ObjectRef: RemovalReason]] = [:]
    /// Objects for which the server sent a new state in this step of the transaction.
    private(set) var serverImages: Set<ObjectRef> = []
    /// Those of all steps. Empty unless somebody observes.
    private(set) var renewedImages: Set<ObjectRef> = []
    /// Subscriptions whose results must be found again, because they became complete or stopped being so.
    private(set) var rebuilt: Set<UInt64> = []
    /// Those among them whose results may show other values than before, although nothing wrote them.
    private(set) var reread: Set<UInt64> = []
    /// Subscriptions whose figures the server has sent.
    private(set) var figured: Set<UInt64> = []

    /// An object before its first change in a transaction.
    struct FirstState {
        let object: ObjectRef
        /// Its row then; nil if it was not here.
        let row: Row?
        /// Its row after the last change, where that is known without reading it.
        fileprivate(set) var known: Row?
        /// Whether it is new, and nothing but pages that are staged has it.
        fileprivate(set) var isStagedOnly = false
    }

    init(_ storage: SQLiteClientStorage, isObserved: Bool) {
        self.storage = storage
        self.isObserved = isObserved
    }

    /// Begins a step: what the server says from now on is of a later state.
    func beginStep() { serverImages = [] }

    /// Reads the object as the transaction sees it.
    func row(_ object: ObjectRef) throws -> Row? { try storage.row(object) }

    /// The store as the transaction sees it.
    var reader: any ClientReading { storage }

    /// Stores an object's new visible state; nil deletes it.
    ///
    /// - Returns: the state before; nil if the object was not here.
    @discardableResult
    func show(_ row: Row?, of object: ObjectRef) throws -> Row? {
        let current = try remember(object)
        switch (current, row) {
        case (nil, nil): break
        case (let current?, let row?) where current.hasIdentities && row.hasIdentities:
            let changed = row.differences(from: current)
            let edits = row.listEdits(changed, from: current)
            try storage.update(row, ofClass: object.classIndex, changed: changed, edits: edits)
        case (_, let row?): try storage.put(row, ofClass: object.classIndex)
        case (_?, nil): try storage.delete(object, version: 0)
        }
        return current
    }

    /// Stores some properties of an object that is here.
    ///
    /// - Parameters:
    ///   - old: the row as it is.
    ///   - edits: how lists come from what they are.
    func update(
        _ row: Row, of object: ObjectRef, changed: PropertySet, replacing old: Row, edits: [Int: ListEdits] = [:]
    ) throws {
        if isObserved { remember(object, as: old) }
        try storage.update(row, ofClass: object.classIndex, changed: changed, edits: edits)
    }

    /// Deletes an object.
    ///
    /// - Parameter old: the row as it is; nil if the object is not here.
    func delete(_ object: ObjectRef, replacing old: Row?) throws {
        if isObserved { remember(object, as: old) }
        if old != nil { try storage.delete(object, version: 0) }
    }

    /// Stores an object unless it is here, without reading it first.
    ///
    /// - Returns: whether the object was stored.
    @discardableResult
    func insert(_ row: Row, of object: ObjectRef) throws -> Bool {
        guard try storage.insertIfAbsent(row, ofClass: object.classIndex) else { return false }
        if isObserved { remember(object, as: nil) }
        return true
    }

    /// Stores those rows of a batch whose objects are present or of whose objects nothing is known, and makes them
    /// members.
    ///
    /// - Parameter role: the role of the members; nil leaves memberships as they are.
    /// - Returns: the positions that were left out, ascending.
    func store(
        _ batch: RowBatch, at positions: [Int], as role: MemberRole?, of subscriptions: [UInt64]
    ) throws -> [Int] {
        let outcome = try storage.store(
            batch, at: positions, as: role, of: subscriptions, isObserved: isObserved)
        func object(_ position: Int) -> ObjectRef { ObjectRef(batch.classIndex, batch.keys[position]) }
        for (position, row) in outcome.created { remember(object(position), as: nil, now: row, isNew: true) }
        for (position, old, row) in outcome.updated { remember(object(position), as: old, now: row) }
        for (subscription, positions) in outcome.joined {
            for position in positions { noteMembership(object(position), of: subscription) }
        }
        return outcome.leftOut
    }

    /// Removes an object from this store only.
    func evict(_ object: ObjectRef, reason: RemovalReason) throws {
        if isObserved { try remember(object) }
        reasons[object] = reason
        // It leaves every membership with its row.
        try noteMemberships(of: object)
        try storage.evict(object)
    }

    /// Lets an object leave all memberships and stay here.
    func endMemberships(of object: ObjectRef) throws {
        try noteMemberships(of: object)
        try storage.endMemberships(of: object)
    }

    private func noteMemberships(of object: ObjectRef) throws {
        for subscription in isObserved ? try storage.subscriptions(having: object, role: .root) : [] {
            noteMembership(object, of: subscription)
        }
    }

    func isKeptCurrent(_ object: ObjectRef) throws -> Bool { try storage.isKeptCurrent(object) }

    func noteMembership(_ object: ObjectRef, of subscription: UInt64, reason: RemovalReason? = nil) {
        guard isObserved else { return }
        if let position = positions[object] { firstStates[position].isStagedOnly = false }
        membershipChanges[subscription, default: []].insert(object)
        if let reason { departureReasons[subscription, default: [:]][object] = reason }
    }

    func noteServerImage(_ object: ObjectRef) {
        serverImages.insert(object)
        if isObserved { renewedImages.insert(object) }
    }

    /// Makes observers judge an object again, even if its row does not change, because operations on it may have ceased
    /// to be pending.
    func touch(_ object: ObjectRef) {
        guard isObserved else { return }
        if let position = positions[object] { firstStates[position].isStagedOnly = false }
        settled.append(object)
    }

    /// Notes that a subscription is answered otherwise from now on.
    ///
    /// - Parameter rereads: whether its results may show other values than before, although nothing wrote them.
    func noteRebuild(_ subscription: UInt64, rereads: Bool = true) {
        rebuilt.insert(subscription)
        if rereads { reread.insert(subscription) }
    }

    /// Notes that the server has sent what the query of a subscription computes over everything that it matches.
    func noteFigures(of subscription: UInt64) { figured.insert(subscription) }

    /// Whether ``firstStates`` has an object.
    func remembers(_ object: ObjectRef) -> Bool { positions[object] != nil }

    @discardableResult
    private func remember(_ object: ObjectRef) throws -> Row? {
        let current = try storage.row(object)
        if isObserved { remember(object, as: current) }
        return current
    }

    /// Keeps what an object was before its first change.
    ///
    /// - Parameters:
    ///   - now: what the object is after this change, where that is known.
    ///   - isNew: whether nothing has the object but pages that are staged.
    private func remember(_ object: ObjectRef, as old: Row?, now: Row? = nil, isNew: Bool = false) {
        if let position = positions[object] {
            firstStates[position].known = now
            firstStates[position].isStagedOnly = false
            return
        }
        positions[object] = firstStates.count
        firstStates.append(FirstState(object: object, row: old, known: now, isStagedOnly: isNew))
    }
}
