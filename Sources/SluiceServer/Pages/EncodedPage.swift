internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// A page as it is sent to all its receivers.
final class EncodedPage {
    let block: SharedBlock
    let isEmpty: Bool
    let progress: Double
    /// Where the results of the page stand, once a receiver was told.
    private var knownPlaces: [ServerMessage.Place]?

    init(_ content: ViewBlock, progress: Double) {
        block = SharedBlock(content)
        isEmpty = content.isEmpty
        self.progress = progress
    }

    /// Where the results of the page stand.
    ///
    /// - Parameter movesOthers: whether receivers may have results already that what the page brings has moved.
    /// - Complexity: O(rows), and O(1) from the second call on where the places depend on the rows alone.
    func places(_ live: LiveView, in storage: SQLiteServerStorage, movesOthers: Bool) throws -> [ServerMessage.Place] {
        if isEmpty { return [] }
        if let knownPlaces { return knownPlaces }
        let places = try ResultPlaces(live: live, storage: storage).rows(of: block.content(), movesOthers: movesOthers)
        if !live.placesByLinks { knownPlaces = places }
        return places
    }
}

extension PageRun.Page {
    /// A page of what was read; nil if there was nothing.
    init?(_ block: ViewBlock, from start: RemainingPages, to end: RemainingPages) {
        guard !block.isEmpty else { return nil }
        var start = start
        start.touched = []
        start.settling = []
        self.init(start: start, round: end.settlingRound, progress: end.progress)
        fill(with: block)
    }

    mutating func fill(with block: ViewBlock) {
        let linked = block.objects.groups.filter { $0.role == .linked }
        let others = block.objects.groups.filter { $0.role != .linked }
        objects = (linked + others).flatMap { group in group.keys.map { ObjectRef(group.classIndex, $0) } }
        linkedCount = linked.reduce(0) { $0 + $1.count }
        if !block.departures.isEmpty {
            let known = Set(objects)
            objects += block.departures.lazy.map(\.object).filter { !known.contains($0) }
        }
        let page = EncodedPage(block, progress: progress)
        content = .encoded(page)
        byteCount = page.block.size + objects.count * 2 * MemoryLayout<ObjectRef>.stride
    }

    mutating func becomeStale() {
        if case .encoded = content { content = .stale }
    }

    mutating func evict() {
        content = .evicted
        objects = []
        byteCount = 0
    }
}
