/// What is known of one open database without asking its queue, which may be busy or wait for a journal.
struct DatabaseHealth: Sendable, Hashable {
    /// Whether nothing is known to prevent writing.
    var isWritable = true
    var isDamaged = false
    /// Whether the journal that several servers share does not answer.
    var isSilent = false
    /// Whether that journal has more than was applied.
    var isBehind = false
    /// The last group that is stored.
    var position: UInt64 = 0
    /// Another number since rights have changed other than by a commit.
    var rightsNumber: UInt64 = 0
}
