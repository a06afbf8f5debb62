package import SluiceModel
package import SluiceQuery

/// A client's store as a reader sees it: objects, subscriptions, memberships, of one commit.
package protocol ClientReading: ObjectReading {
    /// The subscriptions, dormant ones included, by ascending id. Takes O(n log n).
    var subscriptions: [SubscriptionRecord] { get }

    /// How many subscriptions there are, dormant ones included.
    var subscriptionCount: Int { get }

    /// The subscription, dormant or not, to the query with a hash. Takes logarithmic time.
    func subscription(toQuery hash: ObjectID) -> SubscriptionRecord?

    /// Whether an object belongs to a subscription in a role; nil asks for either.
    func isMember(_ object: ObjectRef, of subscription: UInt64, role: MemberRole?) throws -> Bool

    /// How many objects belong to a subscription in a role.
    func memberCount(of subscription: UInt64, role: MemberRole) -> Int

    /// The members of a subscription in a role, by class and order of storage, until `body` returns false.
    func forEachMember(of subscription: UInt64, role: MemberRole, _ body: (ObjectRef) throws -> Bool) throws

    /// Whether an operation on the object waits in the outbox.
    func hasPending(_ object: ObjectRef) throws -> Bool

    /// The objects with operations in the outbox, in no particular order.
    var pendingObjects: [ObjectRef] { get throws }

    /// The rows of the present members of a subscription in a role, by class and order of storage, until `body` returns
    /// false. Faster than ``forEachMember(of:role:_:)`` and asking for each row.
    func forEachMemberRow(of subscription: UInt64, role: MemberRole, _ body: (ObjectRef, Row) throws -> Bool) throws
}

/// A client's store: the visible objects, the server's images of those with pending operations, the outbox, and the
/// memberships of subscriptions.
///
/// The writing calls belong to one thread at a time and see the open transaction; ``read(_:)`` may be called from any
/// thread. Every change needs a transaction.
package protocol ClientStorage: ClientReading, ObjectWriting, Sendable {
    /// Runs `body` over the last commit, whatever is written meanwhile. From any thread; several at once.
    ///
    /// The reader must not leave `body`.
    func read<Result>(_ body: (any ClientReading) throws -> Result) throws -> Result

    /// Who this client is to its server; nil before the first login.
    var syncState: SyncState? { get }
    func setSyncState(_ state: SyncState?) throws

    /// The last tick of the hybrid clock.
    var clock: HybridTimestamp { get }
    func setClock(_ clock: HybridTimestamp) throws

    /// Small values that the store keeps for the engine, by name.
    func metadata(_ name: String) throws -> [UInt8]?
    func setMetadata(_ name: String, _ bytes: [UInt8]?) throws

    // MARK: Objects

    /// Removes an object from this store for good, without a trace on the server: its row goes or, where something links
    /// to it, becomes a ghost. It leaves every membership; subscriptions that lose a member so get holes.
    func evict(_ object: ObjectRef) throws

    /// Removes every object from this store, as ``evict(_:)`` does, at a cost that does not depend on their number.
    ///
    /// - Precondition: there is no subscription and nothing in the outbox.
    func evictAll() throws

    /// The server's image of an object with pending operations; nil if none was kept.
    func baseImage(of object: ObjectRef) throws -> BaseImage?
    /// Keeps or, with nil, forgets the server's image.
    func setBaseImage(_ image: BaseImage?, of object: ObjectRef) throws
    /// Whether an image of the server's is kept of any object.
    var hasBaseImages: Bool { get throws }
    /// The objects of which an image of the server's is kept, in no particular order.
    var objectsWithBaseImage: [ObjectRef] { get throws }

    // MARK: Outbox

    /// The highest sequence that the outbox ever held.
    var lastSequence: UInt64 { get }

    /// Adds a changeset; its sequence must be ``lastSequence`` + 1.
    func appendToOutbox(_ changeset: Changeset) throws

    /// The changesets after a sequence in ascending order, until `body` returns false.
    func forEachOutboxChangeset(after sequence: UInt64, _ body: (Changeset) throws -> Bool) throws

    /// Removes the changesets up to and including a sequence.
    ///
    /// - Returns: what was removed, in ascending order.
    @discardableResult
    func removeFromOutbox(through sequence: UInt64) throws -> [Changeset]

    /// The number of changesets in the outbox.
    var outboxCount: Int { get }

    /// The operations on an object in the outbox after a changeset, oldest first, until `body` returns false.
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

    /// Makes an object, which must be known here, a member.
    ///
    /// - Returns: whether it was none in that role.
    @discardableResult
    func addMember(_ object: ObjectRef, role: MemberRole, to subscription: UInt64) throws -> Bool
    /// - Returns: whether it was a member in that role.
    @discardableResult
    func removeMember(_ object: ObjectRef, role: MemberRole, from subscription: UInt64) throws -> Bool

    /// Starts the membership of a bootstrap beside the current one, or starts it again from nothing.
    func beginStaging(_ subscription: UInt64) throws
    /// Starts the membership of a bootstrap as a copy of the current one.
    func beginStagingCopy(_ subscription: UInt64) throws
    /// Whether a bootstrap's membership is being staged. Survives reopening.
    func isStaging(_ subscription: UInt64) -> Bool
    /// Adds to or removes from the staged membership.
    func stageMember(_ object: ObjectRef, role: MemberRole, in subscription: UInt64) throws
    func unstageMember(_ object: ObjectRef, role: MemberRole, in subscription: UInt64) throws
    /// Makes the staged membership the current one.
    ///
    /// - Returns: the former members that are no longer members in any role.
    func finishStaging(_ subscription: UInt64) throws -> [ObjectRef]
    /// Drops the staged membership.
    func discardStaging(_ subscription: UInt64) throws

    /// The members, staged ones included, that no other active subscription has as member or stages.
    func exclusiveMembers(of subscription: UInt64) throws -> [ObjectRef]

    /// Whether an active subscription other than `excluded` has the object as member or stages it. The cost does not
    /// depend on how many small subscriptions there are.
    func isHeld(_ object: ObjectRef, excluding excluded: UInt64?) throws -> Bool

    /// The subscriptions, dormant ones included, that have the object as member, in no particular order. Costs as
    /// ``isHeld(_:excluding:)``.
    func subscriptions(having object: ObjectRef) throws -> [UInt64]

    /// The subscriptions that nobody observes, in no particular order.
    var dormantSubscriptions: [SubscriptionRecord] { get }

    /// The present objects that match a query's predicate, sort and limit aside, and are no members of a subscription.
    ///
    /// - Parameter query: not of one object.
    func nonmembers(of subscription: UInt64, matching query: Query) throws -> [ObjectRef]

    /// The present objects of a class that no active subscription holds and that have no pending operations.
    func unheldObjects(ofClass classIndex: Int) throws -> [ObjectRef]

    /// Moves committed pages from the write-ahead log into the database file. Between transactions only.
    func checkpoint(truncating: Bool) throws
}

extension ClientStorage {
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
