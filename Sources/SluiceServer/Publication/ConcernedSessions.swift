/// What a commit has changed for each session, gathered view by view.
///
/// One view may concern a hundred thousand sessions. So what is kept of each is a small value that owns nothing, in the
/// order in which it comes, and the sessions are put in order once, at the end.
struct ConcernedSessions {
    /// A change of one view, for one subscription.
    struct Change {
        let receiver: ChangeReceiver
        /// The position of what was encoded.
        let parts: Int
        /// The views of a session are told in the order in which they were added.
        fileprivate let order: Int

        var session: SessionID { receiver.session }

        fileprivate static func < (left: Change, right: Change) -> Bool {
            left.session == right.session ? left.order < right.order : left.session < right.session
        }
    }

    private var changes: [Change] = []
    private var parts: [EncodedParts] = []
    private var numbers: [ObjectIdentifier: Int] = [:]

    /// Adds a change of a view for some of its subscriptions. O(receivers).
    mutating func add(_ encoded: EncodedParts, for receivers: [ChangeReceiver]) {
        let number = numbers[ObjectIdentifier(encoded)] ?? parts.count
        if number == parts.count {
            numbers[ObjectIdentifier(encoded)] = number
            parts.append(encoded)
        }
        for receiver in receivers {
            changes.append(Change(receiver: receiver, parts: number, order: changes.count))
        }
    }

    /// Calls `body` with each session, ascending, and what has changed for it.
    func forEachSession(_ body: (SessionID, ArraySlice<Change>) -> Void) {
        let isSorted = zip(changes, changes.dropFirst()).allSatisfy { $0 < $1 }
        let changes = isSorted ? changes : changes.sorted { $0 < $1 }
        var start = 0
        while start < changes.count {
            let session = changes[start].session
            var end = start + 1
            while end < changes.count, changes[end].session == session { end += 1 }
            body(session, changes[start..<end])
            start = end
        }
    }

    /// Whether a change is so small that one message tells it.
    func isInOneFrame(_ change: Change) -> Bool { parts[change.parts].blocks.count == 1 }

    /// What one session is told: subscriptions with the same change are told it together.
    func blocks(_ changes: ArraySlice<Change>) -> [SessionBlock] {
        var blocks: [SessionBlock] = []
        for change in changes {
            let encoded = parts[change.parts]
            if let position = blocks.firstIndex(where: { $0.parts === encoded }) {
                blocks[position].subscriptions.append(change.receiver.subscription)
            } else {
                blocks.append(SessionBlock(subscriptions: [change.receiver.subscription], parts: encoded))
            }
        }
        return blocks
    }
}

/// The messages about one view for one session.
struct SessionBlock {
    var subscriptions: [UInt64]
    let parts: EncodedParts
}
