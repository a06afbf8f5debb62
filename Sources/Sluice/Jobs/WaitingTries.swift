package import SluiceModel
internal import SluiceWire

/// Rows of a queue that nobody may claim yet: those that have failed or were put off wait for another try, and others are
/// held, by workers that are at work or by such as have died.
package struct WaitingTries: Sendable, Hashable {
    /// How many wait for another try.
    package private(set) var count = 0
    /// When the first of them is due, by the server's clock; nil if there are none.
    package private(set) var next: Timestamp?
    /// How many others hold.
    package private(set) var heldCount = 0
    /// When the first of their leases ends, unless it is extended, by the server's clock; nil if there are none.
    package private(set) var heldUntil: Timestamp?

    package init() {}

    /// Adds a row that waits for another try.
    ///
    /// - Parameter due: when it is due.
    package mutating func add(_ due: Timestamp) {
        count += 1
        next = min(next ?? due, due)
    }

    /// Adds a row that somebody else holds.
    ///
    /// - Parameter end: when the lease ends.
    package mutating func add(heldUntil end: Timestamp) {
        heldCount += 1
        heldUntil = min(heldUntil ?? end, end)
    }

    /// Adds other rows.
    mutating func add(_ others: WaitingTries) {
        count += others.count
        next = [next, others.next].compactMap(\.self).min()
        heldCount += others.heldCount
        heldUntil = [heldUntil, others.heldUntil].compactMap(\.self).min()
    }
}

/// What the claims of a queue say of its rows.
struct QueueClaims {
    /// How many rows a worker has.
    private(set) var heldCount = 0
    private(set) var waiting = WaitingTries()

    init(_ records: [JobRecord]) throws {
        for record in records {
            let claim = try record.decoded(as: QueueClaim.self)
            if claim.isNobodys, let due = record.due { waiting.add(due) } else { heldCount += 1 }
        }
    }
}

extension QueueClaim {
    /// Whether nobody works at the row, which waits for another try.
    var isNobodys: Bool { holder == 0 }
}
