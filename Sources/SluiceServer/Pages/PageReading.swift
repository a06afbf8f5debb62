internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The next pages of a run while they are read and encoded beside the writer, from a snapshot of the database.
final class PageReading: SnapshotReading {
    private let live: LiveView
    private let limits: DatabaseLimits
    private let countMax: Int
    /// What remains to be read after the pages.
    private(set) var remaining: RemainingPages
    /// The pages that have objects.
    private(set) var pages: [PageRun.Page] = []

    /// - Parameters:
    ///   - live: the view in the state of the snapshot, which nobody else uses.
    ///   - countMax: the most pages to read. The first of a run goes out at once.
    init(of live: LiveView, _ remaining: RemainingPages, countMax: Int, _ limits: DatabaseLimits) {
        self.live = live
        self.remaining = remaining
        self.countMax = remaining.isAtStart ? 1 : countMax
        self.limits = limits
    }

    func read(in snapshot: ServerSnapshot, within work: WorkLimit) throws {
        for count in 0..<countMax where count == 0 || remaining.isReadableOn {
            let start = remaining
            do {
                let block = try PageReader(besideTheWriter: snapshot, live, limits, work).readBeside(&remaining)
                if let page = PageRun.Page(block, from: start, to: remaining) { pages.append(page) }
            } catch {
                remaining = start
                // Whoever comes to the next page meets the reason.
                if pages.isEmpty { throw error }
                return
            }
        }
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

/// The next pages of differences while they are read and encoded beside the writer, from a snapshot of the database.
final class DifferenceReading: SnapshotReading {
    private let live: LiveView
    private let limits: DatabaseLimits
    private let countMax: Int
    private var remaining: RemainingPages?
    /// The pages that have differences.
    private(set) var pages: [DifferencePage] = []

    /// - Parameters:
    ///   - live: the view in the state of the snapshot, which nobody else uses.
    ///   - countMax: the most pages to read. The first of a run goes out at once.
    init(of live: LiveView, _ remaining: RemainingPages, countMax: Int, _ limits: DatabaseLimits) {
        self.live = live
        self.remaining = remaining
        self.countMax = remaining.isAtStart ? 1 : countMax
        self.limits = limits
    }

    func read(in snapshot: ServerSnapshot, within work: WorkLimit) throws {
        guard var bootstrap = remaining else { return }
        // Moved out, so that the long list of the client's members is not copied.
        remaining = nil
        for count in 0..<countMax where count == 0 || bootstrap.isReadableOn {
            let block = try PageReader(besideTheWriter: snapshot, live, limits, work).readBeside(&bootstrap)
            if !block.isEmpty { pages.append(DifferencePage(block, progress: bootstrap.progress)) }
        }
        remaining = bootstrap
    }

    /// Removes and returns what remains to be read after the pages; nil if they could not be read.
    func takeRemaining() -> RemainingPages? {
        defer { remaining = nil }
        return remaining
    }
}

extension PageReader {
    /// A reader of one page, which may take a session's share of a turn.
    fileprivate init(
        besideTheWriter snapshot: ServerSnapshot, _ live: LiveView, _ limits: DatabaseLimits, _ work: WorkLimit
    ) {
        self.init(
            storage: snapshot, live: live, limits: limits, work: work,
            stepCountMax: work.stepCount + limits.shareStepCountMax)
    }
}
