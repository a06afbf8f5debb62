package import SluiceModel

/// What became of the rows of a batch that were stored together, by their positions in the batch.
package struct BatchOutcome: Sendable {
    /// The rows that must be stored one by one, ascending.
    package var leftOut: [Int] = []
    /// The rows of new objects, as they are now; empty unless somebody observes.
    package var created: [(position: Int, row: Row)] = []
    /// The rows of objects that were present and have changed, as they were and as they are now; empty unless somebody
    /// observes.
    package var updated: [(position: Int, old: Row, row: Row)] = []
    /// The rows whose objects became members of a subscription; empty unless somebody observes. Staged members do not
    /// count.
    package var joined: [(subscription: UInt64, positions: [Int])] = []
}
