package import SluiceModel
package import SluiceQuery

/// Tells what a client knows of an object as of one commit: its row, whether writes of it are pending, and what the
/// server has named it a result of.
package protocol ObjectStanding: ObjectSource {
    /// Whether an object belongs to a subscription in a role; nil asks for either.
    func isMember(_ object: ObjectRef, of subscription: UInt64, role: MemberRole?) throws -> Bool

    /// Whether an operation on the object waits in the outbox, or refused values of it stay visible.
    func hasPending(_ object: ObjectRef) throws -> Bool

    /// Whether there is an object of which ``hasPending(_:)`` is true. O(1).
    var hasPendingObjects: Bool { get }

    /// The server's last image of an object that shows something else, such as pending writes; nil if none is kept.
    func baseImage(of object: ObjectRef) throws -> BaseImage?
}

/// Reads a client's store as of one commit: objects, subscriptions and memberships.
package protocol ClientReading: ObjectReading, ObjectStanding, QueryPlanning {
    /// The subscriptions, dormant ones included, by ascending id. Takes O(n log n).
    var subscriptions: [SubscriptionRecord] { get }

    /// How many subscriptions there are, dormant ones included.
    var subscriptionCount: Int { get }

    /// The subscription, dormant or not, to the query with a hash. O(1).
    func subscription(toQuery hash: ObjectID) -> SubscriptionRecord?

    /// How many objects belong to a subscription in a role.
    func memberCount(of subscription: UInt64, role: MemberRole) -> Int

    /// Calls `body` with the members of a subscription in a role, by class and order of storage, until it returns
    /// false.
    func forEachMember(of subscription: UInt64, role: MemberRole, _ body: (ObjectRef) throws -> Bool) throws

    /// The objects with operations in the outbox or with refused values, in no particular order.
    var pendingObjects: [ObjectRef] { get throws }

    /// The number of changesets in the outbox. O(1).
    var outboxCount: Int { get }

    /// Calls `body` with the rows of the present members of a subscription in a role, by class and order of storage,
    /// until it returns false. Faster than ``forEachMember(of:role:_:)`` and a lookup of each row.
    func forEachMemberRow(of subscription: UInt64, role: MemberRole, _ body: (StoredRow) throws -> Bool) throws
}

/// A client's store: the visible objects, the base images of those with pending operations, the outbox, and the
/// memberships of subscriptions.
///
/// The writing calls belong to one thread at a time and see the open transaction; ``read(_:)`` may be called on any
/// thread. Every change needs an open transaction.
package protocol ClientStorage: ClientReading, ObjectWriting, Sendable {
    /// Runs `body` on the state of the last commit, whatever is written meanwhile. May be called on any thread, and on
    /// several at once.
    ///
    /// The reader is valid only inside `body`.
    func read<Result>(_ body: (any ClientReading) throws -> Result) throws -> Result

    /// Runs `body` as ``ObjectWriting/transaction(_:)`` does, for what a server has sent and would send again. A power
    /// cut may take its commit, with those of the same kind after it, until another transaction has committed. A killed
    /// process takes none.
    func receive<Result>(_ body: () throws -> Result) throws -> Result

    /// The client's identity at its server, and how far it has synced; nil before the first login.
    var syncState: SyncState? { get }
    func setSyncState(_ state: SyncState?) throws

    /// The last tick of the hybrid clock.
    var clock: HybridTimestamp { get }
    func setClock(_ clock: HybridTimestamp) throws

    /// Small values that the store keeps for the engine, by name.
    func metadata(_ name: String) throws -> [UInt8]?
    func setMetadata(_ name: String, _ bytes: [UInt8]?) throws

    // MARK: Objects

    /// Removes an object from this store; nothing is deleted on the server. The object's row is deleted or, if
    /// something links to it, becomes a ghost. The object leaves all memberships, and a subscription that loses a
    /// member in this way has holes (``SubscriptionRecord/hasHoles``).
    func evict(_ object: ObjectRef) throws

    /// Notes that memberships must not be resumed by version alone (``SubscriptionRecord/hasHoles``).
    ///
    /// - Parameter current: the subscriptions whose memberships are right.
    func noteHoles(except current: Set<UInt64>) throws

    /// Removes every object from this store, as ``evict(_:)`` does, at a cost that does not depend on their number.
    ///
    /// - Precondition: there is no subscription and nothing in the outbox.
    func evictAll() throws

    /// Stores those rows of a batch whose objects are present here, unless they are later here, and with a role those of
    /// whose objects nothing is known, not even a ghost or a tombstone; and makes them members. Costs less for each row
    /// than storing one by one.
    ///
    /// - Parameters:
    ///   - positions: the rows of the batch to store, ascending.
    ///   - role: what the objects are from now on, in place of the other role; nil if the rows are what has changed of
    ///     objects, which leaves memberships as they are and makes no new object.
    ///   - subscriptions: the subscriptions that have them, in the staged membership while a bootstrap is staged.
    ///   - isObserved: whether to return what the rows were before, and who became a member.
    func store(
        _ batch: RowBatch, at positions: [Int], as role: MemberRole?, of subscriptions: [UInt64], isObserved: Bool
    ) throws -> BatchOutcome

    /// Stores or, with nil, removes the base image of an object.
    func setBaseImage(_ image: BaseImage?, of object: ObjectRef) throws
    /// Whether any object has a base image.
    var hasBaseImages: Bool { get throws }
    /// The objects that have a base image, in no particular order.
    var objectsWithBaseImage: [ObjectRef] { get throws }

    // MARK: Outbox

    /// The highest sequence that the outbox ever held.
    var lastSequence: UInt64 { get }

    /// Adds a changeset; its sequence must be ``lastSequence`` + 1.
    ///
    /// - Returns: the changeset as it is stored, which is the form in which it travels.
    @discardableResult
    func appendToOutbox(_ changeset: Changeset) throws -> OutboxEntry

    /// Calls `body` with the changesets after a sequence in ascending order, until it returns false.
    func forEachOutboxEntry(after sequence: UInt64, _ body: (OutboxEntry) throws -> Bool) throws

    /// Removes the changesets up to and including a sequence.
    ///
    /// - Returns: what was removed, in ascending order.
    @discardableResult
    func removeFromOutbox(through sequence: UInt64) throws -> [Changeset]

    /// Whether no operation on an object in a range waits in the outbox, as far as that shows without looking at the
    /// objects: false says nothing.
    func hasNothingPending(in objects: ClosedRange<ObjectRef>) throws -> Bool

    /// The objects that count as having pending operations although the outbox has none of them: they show values that
    /// the server refused. They are not stored; an engine sets them when it begins.
    var keptObjects: Set<ObjectRef> { get }
    func setKeptObjects(_ objects: Set<ObjectRef>) throws

    /// Calls `body` with the operations on an object in the outbox after a changeset, oldest first, until it returns
    /// false.
    func forEachPendingOperation(
        of object: ObjectRef, after sequence: UInt64, _ body: (PendingOperation) throws -> Bool) throws

    // MARK: Subscriptions

    /// Adds a subscription.
    ///
    /// - Parameter record: its `id` is ignored.
    /// - Returns: the record with its id.
    func addSubscription(_ record: SubscriptionRecord) throws -> SubscriptionRecord
    /// Stores a changed record.
    func updateSubscription(_ record: SubscriptionRecord) throws
    /// Removes a subscription and its membership; the objects stay.
    func removeSubscription(_ id: UInt64) throws

    /// Makes an object a member. It must be stored here, at least as a tombstone.
    ///
    /// - Returns: whether it was not a member in that role before.
    @discardableResult
    func addMember(_ object: ObjectRef, role: MemberRole, to subscription: UInt64) throws -> Bool
    /// Ends the membership of an object in a role.
    ///
    /// - Returns: whether it was a member in that role.
    @discardableResult
    func removeMember(_ object: ObjectRef, role: MemberRole, from subscription: UInt64) throws -> Bool

    /// Begins to stage a membership for a bootstrap, empty and beside the current one. What was staged before is
    /// abandoned (``abandonStaging(_:)``).
    func beginStaging(_ subscription: UInt64) throws
    /// Begins to stage a copy of the current membership.
    func beginStagingCopy(_ subscription: UInt64) throws
    /// Whether a bootstrap's membership is being staged. Survives reopening.
    func isStaging(_ subscription: UInt64) -> Bool
    /// Adds an object to the staged membership.
    func stageMember(_ object: ObjectRef, role: MemberRole, in subscription: UInt64) throws
    /// Removes an object from the staged membership.
    func unstageMember(_ object: ObjectRef, role: MemberRole, in subscription: UInt64) throws
    /// Makes the staged membership the current one.
    ///
    /// - Returns: the former members that are no longer members in any role.
    func finishStaging(_ subscription: UInt64) throws -> [ObjectRef]
    /// Ends a staging that goes on no more, if there is one. What was staged is here because of the subscription, and so
    /// becomes a member, in the role in which it was staged; other members stay. A membership that has gained members in
    /// this way has holes (``SubscriptionRecord/hasHoles``).
    ///
    /// - Returns: whether the membership has changed.
    @discardableResult
    func abandonStaging(_ subscription: UInt64) throws -> Bool

    /// The members, staged ones included, that no other active subscription has as members or staged members.
    func exclusiveMembers(of subscription: UInt64) throws -> [ObjectRef]

    /// Whether an active subscription other than `excluded` has the object as member or staged member. The cost does
    /// not depend on how many small subscriptions there are.
    func isHeld(_ object: ObjectRef, excluding excluded: UInt64?) throws -> Bool

    /// The subscriptions, dormant ones included, that have the object as member in a role, in no particular order; nil
    /// asks for either role. The cost is that of ``isHeld(_:excluding:)``.
    func subscriptions(having object: ObjectRef, role: MemberRole?) throws -> [UInt64]

    /// The subscriptions that nobody observes, in no particular order.
    var dormantSubscriptions: [SubscriptionRecord] { get }

    /// The present objects that match a query's predicate, whatever its sort and limit, and are not members of a
    /// subscription.
    ///
    /// - Parameter query: a query over a class, not of one object by its id.
    func nonmembers(of subscription: UInt64, matching query: Query) throws -> [ObjectRef]

    /// The present objects of a class that no active subscription holds and that have no pending operations; none of
    /// a class that does not sync.
    func unheldObjects(ofClass classIndex: Int) throws -> [ObjectRef]

    /// When objects that no subscription has held, not even a dormant one, were found to be cached.
    var cachedSince: [ObjectRef: Timestamp] { get throws }
    /// Stores that time, or with nil removes it.
    func setCachedSince(_ time: Timestamp?, of object: ObjectRef) throws

    /// Copies the store to a new file, which is whole or does not exist. Between transactions only.
    ///
    /// - Throws: ``StorageError/Code/exists`` if there is a file.
    func copy(toFile path: String, for purpose: CopyPurpose) throws

    /// The store's file; nil for a store in memory.
    var path: String? { get }

    /// What the store takes on disk, or in memory, in bytes.
    var byteCount: Int { get throws }

    /// Moves committed pages from the write-ahead log into the database file. Between transactions only.
    func checkpoint(truncating: Bool) throws
}

/// A changeset of the outbox.
package struct OutboxEntry: Sendable {
    package let changeset: Changeset
    /// The changeset in the form in which it is stored and travels; nil where nobody has it in memory.
    package let bytes: [UInt8]?
}

extension ClientStorage {
    /// Calls `body` with the changesets after a sequence in ascending order, until it returns false.
    package func forEachOutboxChangeset(after sequence: UInt64, _ body: (Changeset) throws -> Bool) throws {
        try forEachOutboxEntry(after: sequence) { try body($0.changeset) }
    }

    /// The operations on an object in the outbox, oldest first.
    package func pendingOperations(of object: ObjectRef) throws -> [PendingOperation] {
        var operations: [PendingOperation] = []
        try forEachPendingOperation(of: object, after: 0) { operation in
            operations.append(operation)
            return true
        }
        return operations
    }
}
