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

/// A page of differences that was read beside the writer.
final class DifferencePage {
    private let block: ViewBlock
    let encoded: EncodedPage
    /// The objects that the page brings or removes, gathered once a commit asks.
    private(set) lazy var objects: Set<ObjectRef> = {
        var objects = Set(block.departures.lazy.map(\.object))
        for group in block.objects.groups { for key in group.keys { objects.insert(ObjectRef(group.classIndex, key)) } }
        return objects
    }()

    init(_ block: ViewBlock, progress: Double) {
        self.block = block
        encoded = EncodedPage(block, progress: progress)
    }

    /// The page without some objects.
    func without(_ objects: Set<ObjectRef>) -> EncodedPage {
        var rest = ViewBlock()
        rest.objects = block.objects.without(objects)
        for departure in block.departures where !objects.contains(departure.object) { rest.append(departure) }
        return EncodedPage(rest, progress: encoded.progress)
    }
}

/// The next page of differences while it is read and encoded beside the writer, from a snapshot of the database.
final class DifferenceReading: SnapshotReading {
    private let live: LiveView
    private let limits: DatabaseLimits
    private var remaining: Bootstrap?
    /// The page; nil before it was read, and if there is no difference.
    private(set) var page: DifferencePage?

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
        let block = try reader.readBeside(&bootstrap)
        if !block.isEmpty { page = DifferencePage(block, progress: bootstrap.progress) }
        remaining = bootstrap
    }

    /// Removes and returns what remains to be read after the page; nil if it could not be read.
    func takeRemaining() -> Bootstrap? {
        defer { remaining = nil }
        return remaining
    }
}
