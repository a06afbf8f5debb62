internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews
internal import SluiceWire

/// The pages of a view's bootstrap, read and encoded once for all who subscribe while they last.
///
/// A run is a sequence that grows at its end: linked objects, roots, and then, round by round, what commits have
/// changed behind these pages. Each receiver takes the pages in order and at its own pace. It has everything once it has
/// taken the last page and nothing is left to settle.
///
/// A page is sent only while every object in it is as it was read, since a client may hold a later state of the object
/// from another subscription. When a commit changes one, the page is stale. It is read again for those who still come
/// to it, without the objects that a later page brings anyway.
final class PageRun {
    struct Page {
        enum Content {
            case encoded(EncodedPage)
            /// An object in the page has changed, or the view has.
            case stale
            /// Dropped to save memory. Who comes to it begins a run of its own here.
            case evicted
        }

        /// What remained to be read before this page.
        let start: RemainingPages
        /// The round of settling that the page belongs to; 0 for the pages of linked objects and roots.
        let round: Int
        /// The part of the view's objects that was read up to the end of the page.
        let progress: Double
        var content: Content = .stale
        /// The objects that the page brings or removes.
        var objects: [ObjectRef] = []
        /// How many of them, from the first on, came as linked objects.
        var linkedCount = 0
        /// The objects that it brought before it was read again, and brings no more.
        var formerObjects: Set<ObjectRef> = []
        var byteCount = 0
    }

    let query: Query.Key
    /// The classes of which a change may make a page stale; nil for all of them, once the view has changed its properties.
    private(set) var classes: Set<Int>?
    private(set) var pages: [Page] = []
    /// What remains to be read.
    private(set) var remaining: RemainingPages
    /// Whether further subscriptions may begin with the first page.
    private(set) var isOpen: Bool
    /// How many subscriptions are taking the pages.
    var receiverCount = 0
    /// The subscription on whose behalf the roots are being listed.
    weak var lister: AnyObject?
    /// When the last receiver had left, as the cache has noted.
    var idleSince: Timestamp?
    /// A run that begins at an evicted page.
    private var fork: (page: Int, run: PageRun)?
    /// The objects that commits have touched since the first page, with the rounds that settle them.
    private var rounds: [ObjectRef: Int] = [:]
    /// The objects that commits have changed while pages are being read beside the writer; nil while none are.
    private var changedMeanwhile: Set<ObjectRef>?
    /// Whether the view has changed its properties while pages are being read.
    private var isOfEarlierView = false
    /// The pages that each object is in; nil until a commit first asks.
    private var places: PagePlaces?
    /// How many pages some receiver has taken.
    private var takenCount = 0
    /// What the pages take, about, in bytes, and how much of it the cache has counted.
    private(set) var byteCount = 0
    private var countedByteCount = 0

    init(of live: LiveView, _ bootstrap: RemainingPages, isOpen: Bool = true) {
        query = live.query.key
        classes = Set(live.shape.concernedProperties.keys)
        remaining = bootstrap
        // Nobody's members are compared.
        remaining.leaving = []
        self.isOpen = isOpen
    }

    private init(forking run: PageRun, at page: Int) {
        query = run.query
        classes = run.classes
        isOpen = false
        remaining = run.pages[page].start
        remaining.touched = Set(run.rounds.keys)
        remaining.settlingRound = 0
        rounds = run.rounds.mapValues { _ in 1 }
    }

    /// How many objects commits have touched since the first page.
    var touchedCount: Int { rounds.count }

    /// Whether a subscription may begin with the first page. Where commits have touched much, it gets less in a run of
    /// its own.
    var isWorthJoining: Bool { isOpen && touchedCount <= remaining.expectedCount / 4 }

    // MARK: Growing

    /// Reads on, and adds a page unless there was nothing to read.
    func readPage(_ read: (inout RemainingPages) throws -> ViewBlock) rethrows {
        let start = remaining
        let block: ViewBlock
        do { block = try read(&remaining) } catch {
            // Other receivers may fare better, and must not miss what was read for this page.
            remaining = start
            throw error
        }
        if let page = Page(block, from: start, to: remaining) { append(page) }
    }

    private func append(_ page: Page) {
        pages.append(page)
        byteCount += page.byteCount
        places?.add(page.objects, to: pages.count - 1)
    }

    /// Whether the next pages are being read beside the writer.
    var isReading: Bool { changedMeanwhile != nil }

    /// Begins to read the next pages beside the writer, as the database and the view are now.
    func beginReading(_ live: LiveView, countMax: Int, _ limits: DatabaseLimits) -> PageReading {
        changedMeanwhile = []
        remaining.beginSettling()
        return PageReading(of: live.copyForReading(), remaining, countMax: countMax, limits)
    }

    /// Adds the pages that were read beside the writer. One is stale if a commit has changed an object in it meanwhile.
    func finish(_ reading: PageReading) {
        let changed = changedMeanwhile ?? []
        remaining.goOn(from: reading.remaining)
        for var page in reading.pages {
            if isOfEarlierView || !changed.isEmpty && page.objects.contains(where: changed.contains) {
                page.becomeStale()
            }
            append(page)
        }
        abandonReading()
    }

    /// Forgets the reading of pages, which has failed.
    func abandonReading() {
        changedMeanwhile = nil
        isOfEarlierView = false
    }

    /// Replaces a stale page by what its objects are now.
    func refresh(_ position: Int, _ read: (Page, (ObjectRef) -> Bool) throws -> ViewBlock) rethrows {
        let page = pages[position]
        let block = try read(page) { rounds[$0, default: 0] > page.round }
        byteCount -= page.byteCount
        pages[position].fill(with: block)
        pages[position].formerObjects.formUnion(Set(page.objects).subtracting(pages[position].objects))
        byteCount += pages[position].byteCount
    }

    /// Continues with the roots that were listed.
    func list(_ roots: [ObjectRef]) {
        lister = nil
        remaining.list(roots)
    }

    // MARK: Changing

    /// Records an object whose place or content in the view a commit has changed.
    func touch(_ object: ObjectRef) {
        remaining.touched.insert(object)
        rounds[object] = remaining.settlingRound + 1
    }

    /// Makes the pages stale that bring an object.
    func makeStale(_ object: ObjectRef) {
        guard !pages.isEmpty || isReading else { return }
        changedMeanwhile?.insert(object)
        if places == nil {
            var all = PagePlaces()
            for (position, page) in pages.enumerated() { all.add(page.objects, to: position) }
            places = all
        }
        places?.forEachPage(of: object) { pages[$0].becomeStale() }
    }

    /// Makes all pages stale, since the view includes other properties now.
    func noteChangedView() {
        isOpen = false
        classes = nil
        isOfEarlierView = isReading
        for position in pages.indices { pages[position].becomeStale() }
    }

    /// The objects that the pages up to a position may have brought; nil if that is not known any more.
    func objects(upTo end: Int) -> Set<ObjectRef>? {
        var objects: Set<ObjectRef> = []
        for page in pages[..<end] {
            if case .evicted = page.content { return nil }
            objects.formUnion(page.objects)
            objects.formUnion(page.formerObjects)
        }
        return objects
    }

    /// Notes how many pages a receiver has taken.
    func noteTaken(_ count: Int) { takenCount = max(takenCount, count) }

    // MARK: Memory

    /// By how much the pages have grown since the last call, in bytes; negative if they have shrunk.
    func takeGrowth() -> Int {
        defer { countedByteCount = byteCount }
        return byteCount - countedByteCount
    }

    /// The bytes that calls of ``takeGrowth()`` have told of, which then begin again from zero.
    func takeCounted() -> Int {
        defer { countedByteCount = 0 }
        return countedByteCount
    }

    /// Takes no further subscriptions, and drops pages from the first on, but not the last one, and none that nobody has
    /// taken: who comes to it would read it again, and so on.
    ///
    /// - Parameter byteCountMax: how much the rest may take.
    func evict(to byteCountMax: Int) {
        isOpen = false
        for position in pages.indices.dropLast() where position < takenCount {
            guard byteCount > byteCountMax else { return }
            byteCount -= pages[position].byteCount
            pages[position].evict()
        }
    }

    /// The run in which the receivers continue that come to an evicted page.
    ///
    /// - Returns: the run, and whether it is new.
    func run(from page: Int) -> (run: PageRun, isNew: Bool) {
        // A run without receivers is not told of commits.
        if let fork, fork.page == page, !fork.run.isEvicted, fork.run.receiverCount > 0 {
            return (fork.run, false)
        }
        let run = PageRun(forking: self, at: page)
        fork = (page, run)
        return (run, true)
    }

    private var isEvicted: Bool { if case .evicted? = pages.first?.content { true } else { false } }
}
