package import SluiceModel

/// Where a database stands in its journal: how many groups it has applied, and a hash over all of them.
package struct JournalHead: Hashable, Sendable {
    /// The number of the last group, counted from 1; 0 before the first.
    package var position: UInt64
    /// SHA-256 over the hash before it, the position and the bytes of the group.
    package var chain: [UInt8]

    package init(position: UInt64, chain: [UInt8]) {
        self.position = position
        self.chain = chain
    }

    /// The head before the first group, so that journals of different databases never fit.
    package init(of databaseID: ObjectID) {
        let words = [databaseID.high, databaseID.low].flatMap(Self.bytes)
        self.init(position: 0, chain: SHA256.digest(Array("Sluice journal".utf8) + words))
    }

    /// The head after one more group.
    package func following(_ bytes: [UInt8]) -> JournalHead {
        let next = position + 1
        return JournalHead(position: next, chain: SHA256.digest(chain + Self.bytes(next) + bytes))
    }

    private static func bytes(_ word: UInt64) -> [UInt8] {
        withUnsafeBytes(of: word.bigEndian) { Array($0) }
    }
}

/// One group as a journal keeps it.
package struct JournalRecord: Hashable, Sendable {
    /// The head of the journal after the group.
    package var head: JournalHead
    /// See ``JournalGroup/encoded()``.
    package var bytes: [UInt8]

    package init(head: JournalHead, bytes: [UInt8]) {
        self.head = head
        self.bytes = bytes
    }

    /// Whether the group begins an epoch. O(bytes).
    package var beginsEpoch: Bool {
        guard let group = try? JournalGroup.decode(bytes, wantsValues: false) else { return false }
        return group.steps.contains { if case .epoch = $0 { true } else { false } }
    }

    /// The record of a group that is appended after a head.
    package init(_ group: JournalGroup, after head: JournalHead) {
        bytes = group.encoded()
        self.head = head.following(bytes)
    }
}
