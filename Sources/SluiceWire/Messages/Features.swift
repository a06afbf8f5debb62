/// Abilities beyond the required ones; both sides name theirs, and what only one of them names is not used.
package struct Features: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Subscriptions that carry what the client knows are continued rather than started anew.
    package static let resume = Features(rawValue: 1 << 0)
    /// The server answers ``ClientMessage/reportRequest(_:)``.
    package static let reports = Features(rawValue: 1 << 1)
    /// The server takes ``ClientMessage/remove(_:)``.
    package static let removal = Features(rawValue: 1 << 2)
    /// The server reads runs of creations in uploads.
    package static let creationRuns = Features(rawValue: 1 << 3)
    /// The client may offer what it keeps, and the server says what of it may not be read:
    /// ``ClientMessage/cached(_:)``.
    package static let withdrawals = Features(rawValue: 1 << 4)
    /// The server takes ``ClientMessage/deploy(_:)``.
    package static let rules = Features(rawValue: 1 << 5)
    /// ``ClientMessage/variables(session:values:)``.
    package static let variables = Features(rawValue: 1 << 6)
    /// The server reads edits of sets and maps, and clearings, in uploads.
    package static let elementEdits = Features(rawValue: 1 << 7)
    /// The server reads edits of lists in uploads, and the client reads what blocks say of the elements of lists.
    package static let listEdits = Features(rawValue: 1 << 8)
    /// The client follows a server that hands its session over: ``ServerMessage/moved(_:)``.
    package static let handOver = Features(rawValue: 1 << 9)
    /// The server passes ephemeral messages between the clients of a database: ``ClientMessage/message(_:)``.
    package static let messages = Features(rawValue: 1 << 10)
    /// The server reads in uploads which values nobody has chosen.
    package static let defaults = Features(rawValue: 1 << 11)
    /// All that this version knows.
    package static let all: Features = [
        .resume, .reports, .removal, .creationRuns, .withdrawals, .rules, .variables, .elementEdits,
        .listEdits, .handOver, .messages, .defaults,
    ]
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
