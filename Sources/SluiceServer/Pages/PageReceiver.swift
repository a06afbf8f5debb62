internal import SluiceModel
internal import SluiceWire

/// A subscription's place in a run of pages.
final class PageReceiver {
    private(set) var run: PageRun
    /// The position of the next page.
    private(set) var next = 0
    /// The page that was taken and is to be sent.
    var page: EncodedPage?
    /// How many rounds of changes behind the pages it has begun.
    private(set) var roundCount = 0
    private var round = 0

    init(_ run: PageRun) { self.run = run }

    /// Whether it has taken the last page, and nothing is left to settle.
    var hasAll: Bool { next == run.pages.count && run.remaining.isComplete }

    /// The objects that pages so far may have brought.
    var sentObjects: Set<ObjectRef>? { earlier.flatMap { sent in run.objects(upTo: next).map(sent.union) } }

    /// The objects of pages in runs that it was in before; nil if they are not known.
    private var earlier: Set<ObjectRef>? = []

    /// Notes what an interrupted bootstrap of the same subscription has brought, and the client keeps in mind.
    func noteEarlier(_ objects: Set<ObjectRef>) { earlier?.formUnion(objects) }

    /// Takes the next page.
    func take(_ page: EncodedPage) {
        let pageRound = run.pages[next].round
        next += 1
        run.noteTaken(next)
        self.page = page
        // An empty page at the end is one that commits have overtaken while it was read.
        guard !page.isEmpty || next == run.pages.count, pageRound > round else { return }
        round = pageRound
        roundCount += 1
    }

    /// Goes on with the first page of another run.
    func goOn(in run: PageRun) {
        earlier = sentObjects
        self.run = run
        next = 0
        round = 0
    }
}
