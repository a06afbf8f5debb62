internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The next page of a run while it is read and encoded beside the writer, from a snapshot of the database.
final class PageReading: SnapshotReading {
    private let live: LiveView
    private let limits: DatabaseLimits
    /// What remains to be read after the page.
    private(set) var remaining: Bootstrap
    /// The page; nil before it was read, and if there was nothing to read.
    private(set) var page: PageRun.Page?

    /// - Parameter live: the view in the state of the snapshot, which nobody else uses.
    init(of live: LiveView, _ remaining: Bootstrap, _ limits: DatabaseLimits) {
        self.live = live
        self.remaining = remaining
        self.limits = limits
    }

    func read(in snapshot: any ServerSnapshot, within work: WorkLimit) throws {
        let start = remaining
        let reader = PageReader(
            storage: snapshot, live: live, limits: limits, work: work, stepCountMax: limits.shareStepCountMax)
        let block = try reader.readBeside(&remaining)
        page = PageRun.Page(block, from: start, to: remaining)
    }
}

/// The next page of differences while it is read beside the writer, from a snapshot of the database.
final class DifferenceReading: SnapshotReading {
    private let live: LiveView
    private let limits: DatabaseLimits
    private var remaining: Bootstrap?
    /// The page; empty before it was read, and if there is no difference.
    private(set) var block = ViewBlock()

    /// - Parameter live: the view in the state of the snapshot, which nobody else uses.
    init(of live: LiveView, _ remaining: Bootstrap, _ limits: DatabaseLimits) {
        self.live = live
        self.remaining = remaining
        self.limits = limits
    }

    func read(in snapshot: any ServerSnapshot, within work: WorkLimit) throws {
        guard var bootstrap = remaining else { return }
        // Moved out, so that the long list of the client's members is not copied.
        remaining = nil
        let reader = PageReader(
            storage: snapshot, live: live, limits: limits, work: work, stepCountMax: limits.shareStepCountMax)
        block = try reader.readBeside(&bootstrap)
        remaining = bootstrap
    }

    /// Removes and returns what remains to be read after the page; nil if it could not be read.
    func takeRemaining() -> Bootstrap? {
        defer { remaining = nil }
        return remaining
    }
}
