package import SluiceModel
package import SluiceQuery

/// Tells what a client knows of an object as of one commit: its row, whether writes of it are pending, and what the
/// server has named it a result of.
package protocol ObjectStanding: ObjectSource {
    /// Whether an object belongs to a subscription in a role; nil asks for either.
    func isMember(_ object: ObjectRef, of subscription: UInt64, role: MemberRole?) throws -> Bool

    /// Whether an operation on the object waits in the outbox, or rejected values of it stay visible.
    func hasPending(_ object: ObjectRef) throws -> Bool

    /// Whether there is an object of which ``hasPending(_:)`` is true. O(1).
    var hasPendingObjects: Bool { get }

    /// The server's last image of an object that shows something else, such as pending writes; nil if none is kept.
    func baseImage(of object: ObjectRef) throws -> BaseImage?

    /// Whether this store moves the time of queries with `$now`, and no server does.
    var isTimeOwn: Bool { get }
}

/// Reads a client's store as of one commit: objects, subscriptions and memberships.
package protocol ClientReading: ObjectReading, ObjectStanding, QueryPlanning {
    /// The subscription, dormant or not, to the query with a hash. O(1).
    func subscription(toQuery hash: ObjectID) -> SubscriptionRecord?

    /// How many objects belong to a subscription in a role.
    func memberCount(of subscription: UInt64, role: MemberRole) -> Int

    /// Calls `body` with the members of a subscription in a role, by class and order of storage, until it returns
    /// false.
    func forEachMember(of subscription: UInt64, role: MemberRole, _ body: (ObjectRef) throws -> Bool) throws

    /// The objects with operations in the outbox or with rejected values, in no particular order.
    var pendingObjects: [ObjectRef] { get throws }

    /// The number of changesets in the outbox. O(1).
    var outboxCount: Int { get }

    /// Calls `body` with the rows of the present members of a subscription in a role, by class and order of storage,
    /// until it returns false. Faster than ``forEachMember(of:role:_:)`` and a lookup of each row.
    func forEachMemberRow(of subscription: UInt64, role: MemberRole, _ body: (StoredRow) throws -> Bool) throws
}
