/// What an object goes back to: the creations that made it and that no deletion has undone, and the deletions.
///
/// A deletion undoes the creations that its author knew or made, and those that are earlier. A write belongs to the
/// creations that its author knew, and counts as long as one of them does.
struct Lineages {
    /// Whether the object goes back to what it was before all that is known here.
    private(set) var hasOriginal = true
    /// The creations, in the order of their versions.
    private(set) var creations: [WriteStamp] = []
    private(set) var deletions = StampStack()
    private var creators: Set<UInt64> = []
    private var earliest: WriteStamp?

    /// What a deletion does to an object.
    enum Verdict {
        /// It undoes everything that the object goes back to …
        case all
        /// … or a part …
        case part
        /// … or nothing.
        case none
    }

    /// O(1) unless it undoes something, else O(creations).
    func verdict(on deletion: WriteStamp, since base: UInt64) -> Verdict {
        guard let first = creations.first, let earliest else { return hasOriginal ? .all : .none }
        let isSpared = !hasOriginal && first.version > base && !creators.contains(deletion.clientID)
        if isSpared, !(earliest < deletion) { return .none }
        return creations.contains { survives($0, deletion, since: base) } ? .part : .all
    }

    /// Whether a creation survives a deletion that arrives after it.
    func survives(_ creation: WriteStamp, _ deletion: WriteStamp, since base: UInt64) -> Bool {
        creation.version > base && creation.clientID != deletion.clientID && !(creation < deletion)
    }

    /// Whether an author who knew a version has known, or made, something that the object goes back to. O(1).
    func isKnown(to client: UInt64, since base: UInt64) -> Bool {
        hasOriginal || creators.contains(client) || creations.first.map { $0.version <= base } ?? false
    }

    /// Whether the object goes back to a creation that an author has not known. O(creations).
    func hasUnknown(to client: UInt64, since base: UInt64) -> Bool {
        creations.contains { $0.version > base && $0.clientID != client }
    }

    /// The latest deletion by stamp of those after a version. O(log n).
    func latestDeletion(since base: UInt64) -> WriteStamp? { deletions.latest(since: base) }

    mutating func noteDeletion(_ stamp: WriteStamp) { deletions.push(stamp) }

    mutating func noteCreation(_ stamp: WriteStamp) {
        creations.append(stamp)
        creators.insert(stamp.clientID)
        earliest = earliest.map { min($0, stamp) } ?? stamp
    }

    /// Forgets what the object goes back to, but not the deletions.
    mutating func clear() {
        hasOriginal = false
        creations = []
        creators = []
        earliest = nil
    }

    /// Takes over deletions that are noted elsewhere.
    mutating func setDeletions(_ deletions: StampStack) { self.deletions = deletions }
}
