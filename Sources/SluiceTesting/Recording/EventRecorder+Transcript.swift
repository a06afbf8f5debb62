internal import Sluice
internal import SluiceModel

extension EventRecorder {
    /// The life of the subscription as text, one event a line, to compare in tests: where the event came from, the state,
    /// whether the server has confirmed the results, and what changed.
    ///
    /// ```
    /// initial; pending; cached; 0 objects
    /// remote (create) by ada; complete; confirmed; 1 object: +0 ChecklistItem "1" v2
    /// local; complete; confirmed; 1 object: ~0 ChecklistItem "1" v2 pending
    /// remote (delete); complete; confirmed; 0 objects: -0 ChecklistItem "1" deleted
    /// ```
    ///
    /// `+` is an insertion and `~` a modification, with the object's position now and the server's version of it (none
    /// before the server has it); `-` is a removal with its position before and the reason, `2>0` a move. Objects without
    /// a primary key show their class alone, since their ids differ from run to run.
    public var transcript: String { events.map(\.transcriptLine).joined(separator: "\n") }
}

extension Change {
    fileprivate var transcriptLine: String {
        let author = remote.flatMap(\.userID).map { " by \($0)" } ?? ""
        let isFresh = if case .confirmed = freshness { "confirmed" } else { "cached" }
        let changes =
            insertions.map { "+\($0) \(object(at: $0))" } + modifications.map { "~\($0) \(object(at: $0))" }
            + moves.map { "\($0.from)>\($0.to)" }
            + removals.map { "-\($0.index) \(Self.name($0.identity)) \($0.reason.rawValue)" }
        let count = "\(results.count) \(results.count == 1 ? "object" : "objects")"
        return "\(origin)\(author); \(subscription); \(isFresh); \(count)"
            + (changes.isEmpty ? "" : ": \(changes.joined(separator: ", "))")
    }

    private func object(at index: Int) -> String {
        let version = results.list.entries[index].row.version
        return Self.name(results.identity(at: index)) + (version > 0 ? " v\(version)" : "")
            + (results.hasPendingWrites(at: index) ? " pending" : "")
    }

    private static func name(_ identity: Identity) -> String {
        switch identity.key {
        case .id: identity.className
        case .string(let text): "\(identity.className) \"\(text)\""
        default: "\(identity.className) \(identity.key)"
        }
    }
}
