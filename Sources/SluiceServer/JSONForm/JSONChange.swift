internal import SluiceModel
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

    /// What a query with AGGREGATE has computed, in a frame's message.
    struct Figures: Hashable, Sendable {
        let message: Int
        /// The position among the figures of a commit; nil in a completion, which has all of them.
        let place: Int?
        /// The query's text, which may be one of TOTAL.
        let query: String
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
    var figures: Figures?
    var acceptedAt: Int64?
    /// The number of the client, if one of the authors is it.
    var ownClient: UInt64?

    /// Adds what the query computes.
    ///
    /// - Parameters:
    ///   - values: figures as they are sent; nil for none.
    ///   - message: the position of the message that has them.
    ///   - place: their position among the figures of a commit; nil in a completion.
    mutating func add(_ values: [Value]?, of audience: JSONSubscription.Audience, message: Int, place: Int?) {
        guard let values else { return }
        if let query = audience.figures {
            figures = Figures(message: message, place: place, query: query)
        } else if case .int(let count)? = values.first {
            total = count
        }
    }
}

/// What one frame is to a connection: texts, in order.
enum JSONPiece: Hashable, Sendable {
    case change(JSONChange)
    case text([UInt8])
}
