package import SluiceModel

/// A subscription as the store remembers it.
package struct SubscriptionRecord: Hashable, Sendable {
    package enum State: UInt8, Sendable {
        case pending, bootstrapping, complete, failed
    }

    /// Given by the store, ascending from 1, never given twice.
    package var id: UInt64
    /// The query's canonical text and its hash.
    package var canonicalText: String
    package var hash: ObjectID
    package var className: String
    package var state: State
    /// The server version at which the membership is right; 0 if it never was.
    package var version: UInt64
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// Whether nobody observes it: its membership protects nothing then.
    package var isDormant: Bool
    /// Whether a member was removed from disk for another's sake, so that its membership is no longer whole and it must
    /// not be resumed by version alone.
    package var hasHoles: Bool

    package init(
        id: UInt64, canonicalText: String, hash: ObjectID, className: String, state: State = .pending,
        version: UInt64 = 0, createdAt: Timestamp, updatedAt: Timestamp, isDormant: Bool = false,
        hasHoles: Bool = false
    ) {
        self.id = id
        self.canonicalText = canonicalText
        self.hash = hash
        self.className = className
        self.state = state
        self.version = version
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.isDormant = isDormant
        self.hasHoles = hasHoles
    }
}

/// Why an object belongs to a subscription. It may be both.
package enum MemberRole: UInt8, Sendable, CaseIterable {
    /// It is a result of the query.
    case root
    /// A member links to it.
    case linked
}
