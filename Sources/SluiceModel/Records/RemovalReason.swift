/// Why an object is no longer among the results of a query.
public enum RemovalReason: String, Sendable, Hashable, CaseIterable {
    /// The object was deleted.
    case deleted
    /// The object no longer matches the query's condition; or, for a linked object, no result leads to it any more.
    case filter
    /// The object still matches, but other objects now come before it and fill the query's limit.
    case window
    /// The user may no longer read the object.
    case permission
    /// The subscription that held the object reached its time limit.
    case expired
    /// The object was purged from the local store.
    case purged
    /// The object is still a result of the query, and its type cannot represent what is stored by now.
    case unreadable
    /// The reason is not known, for example because the client was offline for long.
    case unknown
}
