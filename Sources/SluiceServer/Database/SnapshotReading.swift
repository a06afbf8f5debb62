internal import SluiceStorage

/// Work that only reads, and that is done beside the writer on a snapshot of the database.
///
/// One thread at a time uses it: it is made and given back on the database's queue, and done elsewhere.
protocol SnapshotReading: AnyObject {
    /// - Parameter work: counts the steps that the reading takes.
    func read(in snapshot: ServerSnapshot, within work: WorkLimit) throws
}
