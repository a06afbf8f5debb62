#if PostgreSQL

/// What the nodes of a cluster tell each other by NOTIFY.
enum NewsChannel {
    /// The channel. Most payloads are the number of a database and a position.
    static let name = "sluice"
    /// What stands in the place of a position where an administrator asks for an upkeep.
    static let upkeep = "upkeep"
}

#endif
