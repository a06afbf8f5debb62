#if PostgreSQL

/// Which run of which PostgreSQL has answered, and with which tables. Where it differs from the one before, what that one
/// had acknowledged may be missing: after a crash without fsync, a failover to a standby that was behind, or a restore.
package struct PostgresHistory: Hashable, Sendable, CustomStringConvertible {
    /// The number that initdb drew; a standby has that of its primary.
    package var system: UInt64
    /// How often a standby was promoted on the way here.
    package var timeline: UInt32
    /// When the server was started, in microseconds since 1970.
    package var start: Int64
    /// The number that the table `sluice.database` was given when it was made; 0 where there is none. A dump that is put
    /// back makes it anew, also on a server that runs on. A standby has that of its primary.
    package var tables: UInt32

    package init(system: UInt64, timeline: UInt32, start: Int64, tables: UInt32) {
        self.system = system
        self.timeline = timeline
        self.start = start
        self.tables = tables
    }

    /// Whether this is an old primary for who has seen another one: a standby of it was promoted since.
    package func isOlder(than other: PostgresHistory) -> Bool { system == other.system && timeline < other.timeline }

    /// Parses ``description``.
    package init?(_ text: String) {
        let parts = text.split(separator: "/")
        guard parts.count == 4, let system = UInt64(parts[0]), let timeline = UInt32(parts[1], radix: 16),
            let start = Int64(parts[2]), let tables = UInt32(parts[3])
        else { return nil }
        self.init(system: system, timeline: timeline, start: start, tables: tables)
    }

    /// The form in `sluice.database.history`: system, timeline (eight hexadecimal digits, as in the names of WAL files),
    /// start, and tables.
    package var description: String {
        let digits = String(timeline, radix: 16, uppercase: true)
        return "\(system)/\(String(repeating: "0", count: 8 - digits.count))\(digits)/\(start)/\(tables)"
    }
}

#endif
