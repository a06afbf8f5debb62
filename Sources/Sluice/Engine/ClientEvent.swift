/// What happens to a client's sync from outside.
package enum ClientEvent: Sendable {
    /// Sync begins: connect.
    case start
    /// Sync ends: disconnect and stay so.
    case stop
    /// The connection that was asked for stands.
    case opened
    /// The connection is gone, or could not be made.
    case closed(reason: String, isTransient: Bool)
    /// A whole frame arrived.
    case received([UInt8])
    /// The time set by ``ClientAction/reconnect(after:)`` has passed, or somebody wants no longer to wait.
    case reconnect
}

/// What a client's sync wants done.
package enum ClientAction: Sendable, Equatable {
    case connect
    case disconnect
    case send([UInt8])
    /// Raise ``ClientEvent/reconnect`` after this long.
    case reconnect(after: Duration)
}
