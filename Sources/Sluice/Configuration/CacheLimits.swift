/// How much a store keeps of what nobody observes: the cached objects, which no observed query holds or shows and of
/// which no write waits to be uploaded.
///
/// What goes beyond the limits is removed from this store only, oldest first; nothing is deleted on the server. Unsent
/// writes are never removed. A store looks a minute after it was opened, and then every ten minutes, or more often for a
/// short ``ageMax``.
public struct CacheLimits: Sendable, Hashable {
    /// The most bytes of cached objects, counted as for the limit of an object; nil for no limit.
    public var byteCountMax: Int?
    /// How long an object stays after the last query that held it has ended. For one that was written here, or asked for
    /// by its key alone, and that no other query has held: after the store has first found it cached. Nil for ever.
    public var ageMax: Duration?

    /// - Parameters:
    ///   - byteCountMax: the most bytes of cached objects; nil for no limit.
    ///   - ageMax: how long an object stays after the last query that held it has ended; nil for ever.
    public init(byteCountMax: Int? = nil, ageMax: Duration? = nil) {
        self.byteCountMax = byteCountMax
        self.ageMax = ageMax
    }

    /// Whether nothing is limited.
    var areNone: Bool { byteCountMax == nil && ageMax == nil }
}
