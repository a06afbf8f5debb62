internal import SluiceModel
internal import SluiceViews
internal import SluiceWire

/// The pages for one client that has members: what of the view differs from those that it has listed, or from those
/// that it had before its user's rights changed.
///
/// A page that was read beside the writer is sent without the objects that commits have changed since: a client may hold
/// a later state of one from another subscription. These are settled at the end, as they are then.
final class DifferenceRun {
    /// A page beside the writer.
    private enum Page {
        case none
        case reading
        /// It was read, and waits for credit.
        case read(DifferencePage)
    }

    /// The departures that come first, in pages that others are sent as well.
    private struct Departures {
        let pages: DeparturePages
        /// What of them the client keeps, or what is settled at the end.
        let kept: Set<ObjectRef>
        var next = 0
    }

    /// What remains to be read.
    var remaining: Bootstrap
    private var departures: Departures?
    private var page = Page.none
    /// The objects that commits have changed, or moved in the view, since the reading of the page was begun; once it was
    /// read, those of the page.
    private var changed: Set<ObjectRef> = []
    /// The classes of which a change may concern an object in a page.
    private var classes: Set<Int> = []

    init(_ bootstrap: Bootstrap) { remaining = bootstrap }

    /// A run that has nothing to send before ``begin(_:keeping:settling:)``.
    init() { remaining = Bootstrap(linked: [], roots: .unlisted(after: nil), expectedCount: 0) }

    /// Begins with what was found.
    ///
    /// - Parameters:
    ///   - departures: what leaves; nil if that is not known together with others.
    ///   - kept: what of it does not leave here.
    ///   - objects: what is sent as it is then, or leaves.
    func begin(_ departures: DeparturePages?, keeping kept: Set<ObjectRef>, settling objects: Set<ObjectRef>) {
        self.departures = departures.flatMap { $0.count > 0 ? Departures(pages: $0, kept: kept) : nil }
        remaining.roots = .done
        remaining.leaving = []
        remaining.expectedCount = (departures?.count ?? 0) + objects.count
        touch(objects)
    }

    var isReading: Bool { if case .reading = page { true } else { false } }

    /// Whether a page waits to be sent.
    var hasPage: Bool { if case .read = page { true } else { departures != nil } }

    /// Whether the client has everything once it has what was sent.
    var isComplete: Bool { if case .none = page { departures == nil && remaining.isComplete } else { false } }

    /// Removes and returns the next page of departures, without what commits have touched since; nil if there is none.
    func takeDepartures() -> (page: EncodedPage, isShared: Bool)? {
        guard let current = departures else { return nil }
        let taken = current.pages.page(current.next) { current.kept.contains($0) || remaining.touched.contains($0) }
        remaining.readCount += current.pages.pages[current.next].objects.count
        departures?.next += 1
        if current.next + 1 == current.pages.pages.count { departures = nil }
        return taken
    }

    /// Begins to read the next page beside the writer, as the database and the view are now.
    func beginReading(_ live: LiveView, _ limits: DatabaseLimits) -> DifferenceReading {
        page = .reading
        changed = []
        classes = Set(live.shape.concernedProperties.keys)
        return DifferenceReading(of: live.copyForReading(), remaining.takeReading(), limits)
    }

    /// Takes the page that was read beside the writer.
    func finish(_ reading: DifferenceReading) {
        guard isReading, let remaining = reading.takeRemaining() else { return }
        self.remaining.goOn(from: remaining)
        guard let read = reading.page else {
            page = .none
            return
        }
        if !changed.isEmpty { changed.formIntersection(read.objects) }
        page = .read(read)
    }

    /// Removes and returns the page that waits, without what commits have changed since; nil if none waits.
    func takePage() -> EncodedPage? {
        guard case .read(let read) = page else { return nil }
        page = .none
        guard !changed.isEmpty else { return read.encoded }
        touch(changed)
        return read.without(changed)
    }

    /// Records objects whose place or content in the view a commit has changed. A page on its way is sent without them:
    /// one may have left the view because of what others say, and its reader must not see it any more.
    func touch(_ objects: Set<ObjectRef>) {
        remaining.touched.formUnion(objects)
        switch page {
        case .none: break
        case .reading: changed.formUnion(objects)
        case .read(let read): changed.formUnion(objects.intersection(read.objects))
        }
    }

    /// Records what a commit has changed in any way while a page is on its way.
    func noteChanges(_ commit: CommitDelta) {
        switch page {
        case .none: break
        case .reading:
            for change in commit.changes where classes.contains(change.object.classIndex) {
                changed.insert(change.object)
            }
        case .read(let read):
            for change in commit.changes where read.objects.contains(change.object) { changed.insert(change.object) }
        }
    }
}
