/// What a copy of a store is, from ``Store/writeCopy(to:as:)``.
public enum StoreCopy: Sendable, Hashable {
    /// A store of its own with the objects that are here: as they are shown, without subscriptions, outbox and server.
    /// Opened with ``StoreConfiguration/sync``, it uploads all of its objects as new ones, as any local store does.
    case local
    /// A store that syncs with the same database: with the objects, and what is known of how current they are, so that
    /// observing the queries that this store has observed brings only what changed since. Each copy of the file becomes
    /// a client of its own when it connects, so one file can be shipped with an app to any number of devices.
    case synced
}
