package import SluiceModel

/// What became of the rows of a batch that were stored together, by their positions in the batch.
package struct BatchOutcome: Sendable {
    /// The rows that must be stored one by one, ascending.
    package var leftOut: [Int] = []
    /// The rows of new objects; empty unless somebody observes.
    package var created: [Int] = []
    /// The rows of objects that are present, with what they were before; empty unless somebody observes.
    package var updated: [(position: Int, old: Row)] = []
    /// The rows whose objects became members of a subscription; empty unless somebody observes. Staged members do not
    /// count.
    package var joined: [(subscription: UInt64, positions: [Int])] = []
}
