package import SluiceModel

/// A subscription as it is stored.
package struct SubscriptionRecord: Hashable, Sendable {
    package enum State: UInt8, Sendable {
        /// The server has not sent the membership yet, or has to confirm it again.
        case pending
        /// Pages of a bootstrap have arrived, but not all.
        case bootstrapping
        /// The membership is right, as of the record's version.
        case complete
        /// The server ended the subscription with an error.
        case failed
    }

    /// Assigned by the store, ascending from 1, each only once.
    package var id: UInt64
    /// The query's canonical text and its hash.
    package var canonicalText: String
    package var hash: ObjectID
    package var className: String
    package var state: State
    /// The server version of which the membership is right; 0 if it never was.
    package var version: UInt64
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// Whether nobody observes it; its membership then protects no objects.
    package var isDormant: Bool
    /// Whether the membership is not the one of its version, and must not be resumed by version alone: a member was
    /// removed from this store although the server still includes it, or what a bootstrap had brought was added before
    /// the bootstrap was complete.
    package var hasHoles: Bool
    /// What the server has said last that the query computes over everything that it matches; nil if nothing.
    package var figures: [Value]?

    package init(
        id: UInt64, canonicalText: String, hash: ObjectID, className: String, state: State = .pending,
        version: UInt64 = 0, createdAt: Timestamp, updatedAt: Timestamp, isDormant: Bool = false,
        hasHoles: Bool = false, figures: [Value]? = nil
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
        self.figures = figures
    }
}

/// Why an object belongs to a subscription. An object may have both roles.
package enum MemberRole: UInt8, Sendable, CaseIterable {
    /// The object is a result of the query.
    case root
    /// A member links to the object.
    case linked
}
