/// Abilities beyond those that a version of the protocol requires. Both sides name theirs, and what only one of them names
/// is not used; so bits that one side does not know have no effect.
package struct Features: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Jobs of clients: the message `job`, and changes of their records in uploads.
    package static let jobs = Features(rawValue: 1 << 0)
    /// Queries may ask for what is computed over everything that they match: their total.
    package static let aggregates = Features(rawValue: 1 << 1)

    /// A client that keeps no store, behind a door of the server: it is told the places of rows
    /// (``ServerMessage/places(_:)``) and whole lists, and is never asked to list members. No peer can name this bit; a
    /// door does.
    package static let light = Features(rawValue: 1 << 2)

    /// All that this version knows, and peers may name.
    package static let all: Features = [.jobs, .aggregates]
}

/// Versions of the protocol.
package enum ProtocolVersion {
    /// The WebSocket sub-protocol of every version.
    package static let subprotocol = "sluice.1"
    package static let minimum: UInt64 = 1
    package static let maximum: UInt64 = 1

    /// The highest version that both sides speak; nil if there is none.
    package static func negotiate(minimum theirMinimum: UInt64, maximum theirMaximum: UInt64) -> UInt64? {
        let version = min(maximum, theirMaximum)
        return version >= max(minimum, theirMinimum) ? version : nil
    }
}
