/// Why an object is no longer among the results of a query.
public enum RemovalReason: String, Sendable, Hashable, CaseIterable {
    /// The object was deleted.
    case deleted
    /// The object no longer matches the query's predicate; of a linked object, nothing in the results leads to it any more.
    case filter
    /// The object still matches but others come before it, and the query has a limit.
    case window
    /// The user may no longer read the object.
    case permission
    /// The subscription that held the object ended by its own time limit.
    case expired
    /// The object was purged from the local store.
    case purged
    /// The object went while nobody could tell why, for instance while the client was offline for long.
    case unknown
}
