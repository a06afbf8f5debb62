internal import SluiceStorage
internal import SluiceViews

/// The next page of a run while it is read and encoded beside the writer, from a snapshot of the database.
///
/// One thread at a time uses it: it is made and given back on the database's queue, and read elsewhere.
final class PageReading {
    private let live: LiveView
    /// What remains to be read after the page.
    private(set) var remaining: Bootstrap
    /// The page; nil before it was read, and if there was nothing to read.
    private(set) var page: PageRun.Page?

    /// - Parameter live: the view in the state of the snapshot, which nobody else uses.
    init(of live: LiveView, _ remaining: Bootstrap) {
        self.live = live
        self.remaining = remaining
    }

    func read(in snapshot: any ServerSnapshot, within work: WorkLimit, limits: DatabaseLimits) throws {
        let start = remaining
        let reader = PageReader(
            storage: snapshot, live: live, limits: limits, work: work, stepCountMax: limits.shareStepCountMax)
        let block = try reader.readUnsettled(&remaining)
        page = PageRun.Page(block, from: start, to: remaining)
    }
}
