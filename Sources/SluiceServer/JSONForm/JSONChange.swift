internal import SluiceWire

/// A `change` message before it is written: which parts of a frame it tells, and how. Connections that are told the same
/// have equal values, and share its text.
struct JSONChange: Hashable, Sendable {
    /// A block of a frame's message.
    struct Part: Hashable, Sendable {
        let message: Int
        /// The position of the block in a commit; 0 in a page.
        let block: Int
    }

    var subscriptions: [UInt64]
    var version: UInt64
    var isComplete = false
    /// Whether what the client has of the subscriptions is to be forgotten first.
    var resets = false
    /// Whether linked objects are told.
    var showsLinks = false
    /// In thousandths; nil once it is complete, and where it is not told.
    var progress: Int?
    var parts: [Part] = []
    var total: Int64?
    var acceptedAt: Int64?
    /// The number of the client, if one of the authors is it.
    var ownClient: UInt64?
}

/// What one frame is to a connection: texts, in order.
enum JSONPiece: Hashable, Sendable {
    case change(JSONChange)
    case text([UInt8])
}
