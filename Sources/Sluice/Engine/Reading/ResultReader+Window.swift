internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The first results of a query, in its order.
struct FirstResults {
    /// The results, in no particular order.
    fileprivate(set) var entries: [ResultEntry] = []
    /// The position up to which these are all results; nil if there are no others.
    fileprivate(set) var end: SortPosition?
    /// How many rows were read to find them.
    fileprivate(set) var readCount = 0
}

/// Reads the first results of a query with a limit, and not the others.
extension ResultReader {
    /// Whether the first results can be read without the others: the query has a limit and no stages, no server has
    /// named its results, and this store can judge them. What a server has named is about as much as the limit.
    var readsWindow: Bool {
        query.limit != nil && query.stages.isEmpty && query.object == nil && !isInForce
            && judge.canJudge(for: subscription)
    }

    /// The first results, which know whether writes of them are pending.
    ///
    /// SQLite puts the matches in order. Where an index has that order, it reads no more than these; else it reads all
    /// matches, and keeps no more than these. What the server had named before, and cannot be judged here, is read
    /// beside them.
    ///
    /// - Parameter capacity: how many are wanted, at least one.
    /// - Precondition: ``readsWindow``.
    func firstResults(_ capacity: Int) throws -> FirstResults {
        var first = FirstResults()
        var askedCount = capacity
        while true {
            first.entries = []
            var foundCount = 0
            try reader.rows(matching: query, after: nil, limit: askedCount) { row in
                foundCount += 1
                if try judge.isJudgeable(row, of: subscription, in: state) { first.entries.append(try entry(of: row)) }
                return first.entries.count < capacity
            }
            first.readCount += foundCount
            if first.entries.count == capacity {
                first.end = first.entries.last?.position
                break
            }
            // Fewer than were asked for are all. Else rows that cannot be judged have taken the place of others.
            guard foundCount == askedCount else { break }
            let (doubled, overflows) = askedCount.multipliedReportingOverflow(by: 2)
            askedCount = overflows ? .max : doubled
        }
        try addNamed(to: &first)
        return first
    }

    /// Adds those of the results that only the server's word makes one.
    private func addNamed(to first: inout FirstResults) throws {
        guard let subscription, reader.memberCount(of: subscription.id, role: .root) > 0 else { return }
        let order = SortOrder(query.sort)
        let found = Set(first.entries.map(\.object))
        try reader.forEachMember(of: subscription.id, role: .root) { object in
            guard !found.contains(object), let row = try reader.row(object) else { return true }
            first.readCount += 1
            guard try includes(row, object) else { return true }
            let entry = try entry(of: row)
            if let end = first.end, order.precedes(end, entry.position) { return true }
            first.entries.append(entry)
            return true
        }
    }

    private func entry(of row: Row) throws -> ResultEntry {
        let object = ObjectRef(query.classIndex, row.key)
        let isPending = try state.hasPendingObjects && state.hasPending(object)
        return try judge.entry(object, row, isPending: isPending, in: state)
    }

    /// Calls `body` with what an observer of the query holds.
    ///
    /// - Parameter capacity: how many results it holds at least, where the first can be read without the others.
    /// - Returns: what `body` was called with, and how many rows were read.
    func forEachHeldEntry(
        capacity: Int?, _ body: (ResultEntry) throws -> Void
    ) throws -> (extent: HeldExtent, readCount: Int) {
        guard let capacity, readsWindow else {
            var readCount = 0
            try forEachEntryWithStanding { entry in
                readCount += 1
                try body(entry)
            }
            return (.whole, readCount)
        }
        let first = try firstResults(capacity)
        for entry in first.entries { try body(entry) }
        return (.window(end: first.end), first.readCount)
    }
}

/// Which results an observer holds.
enum HeldExtent {
    /// All of them.
    case whole
    /// The first in order, up to and including this position; nil if these are all at present.
    case window(end: SortPosition?)

    /// Whether there are results that are not held.
    var hasOthers: Bool { if case .window(_?) = self { true } else { false } }
}
