/// How far a transfer between a store and its server has come.
public struct SyncProgress: Sendable, Hashable {
    /// Which way data travels.
    public enum Direction: Sendable, Hashable {
        /// What was written here, until the server acknowledges it.
        case upload
        /// What the server sends for observed queries.
        case download
    }

    /// What progress is of.
    public enum Extent: Sendable, Hashable {
        /// All work, also what comes later. The estimate returns to a lower value when new work comes.
        case indefinitely
        /// The work that is outstanding when one begins to listen. The estimate never falls, and the last value that
        /// comes is 1, unless syncing is stopped or fails before.
        case outstanding
    }

    /// How many rows have travelled since one began to listen: the changed objects of acknowledged uploads, or the
    /// objects and removals that the server has sent. After a lost connection some travel again.
    public let rowCount: Int
    /// How many bytes have travelled since one began to listen: of the values of acknowledged uploads, or of the frames
    /// in which the server's objects came.
    public let byteCount: Int
    /// The part of the work that is done, from 0 to 1. For uploads it is of the transactions; for downloads every query
    /// counts the same, and the server says how much of each it has sent.
    public let estimate: Double

    /// Whether nothing is left to do.
    public var isComplete: Bool { estimate >= 1 }

    package init(rowCount: Int, byteCount: Int, estimate: Double) {
        self.rowCount = rowCount
        self.byteCount = byteCount
        self.estimate = estimate
    }
}

extension SyncProgress: CustomStringConvertible {
    /// The estimate in percent, the rows and the bytes.
    public var description: String { "\(Int(estimate * 100)) %, \(rowCount) rows, \(byteCount) bytes" }
}
