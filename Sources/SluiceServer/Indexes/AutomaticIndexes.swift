internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// Counts which indexes the live queries want, and decides which to create or drop next. It does not access storage.
package struct AutomaticIndexes {
    /// When an index is worth its cost.
    package struct Limits: Sendable {
        /// The minimum number of rows. A smaller class is scanned fast enough …
        package var rowCountMin = 5_000
        /// … unless it has this many rows at least, and so many queries want the index that they scan this many rows
        /// when their clients come.
        package var scannedRowCountMin = (ofClass: 100, ofAll: 1_000_000)
        /// The maximum number of rows. Creating an index stops the database for one to two and a half microseconds a
        /// row, so for up to about a second. Larger classes need indexes that the schema declares.
        package var rowCountMax = 500_000
        /// The maximum number of automatic indexes of a class. Each makes every write of the class a little slower.
        package var countOfClassMax = 6
        /// How long, in microseconds, a query must stay before it gets an index, so that short-lived queries do not …
        package var settlingMicroseconds: Int64 = 10_000_000
        /// … unless queries have begun to want the index this many times.
        package var settlingCount = 4
        /// How long, and for how many versions, an index is kept that no live query wants.
        package var retentionMicroseconds: Int64 = 3_600_000_000
        package var retentionVersionCount: UInt64 = 1_000

        package init() {}
    }

    enum Step: Hashable {
        case make(TableIndex)
        case drop(TableIndex)
    }

    /// The demand of queries for an index.
    private struct Demand {
        /// How many live queries want the index.
        var queryCount = 0
        /// How many queries have begun to want it.
        var beginningCount = 0
        /// Since when live queries have wanted it; nil until that was looked at.
        var since: Timestamp?
    }

    private struct Idle {
        let since: Timestamp
        let version: UInt64
    }

    private let limits: Limits
    private var existing: Set<TableIndex> = []
    private var demands: [TableIndex: Demand] = [:]
    private static let demandCountMax = 1_000
    /// The indexes that no live query wants, and since when.
    private var idle: [TableIndex: Idle] = [:]
    /// Indexes that could not be created or dropped. They are not tried again until the database is opened again.
    private var failed: Set<TableIndex> = []
    private var mustLook = true
    private var lookedAtVersion: UInt64 = 0
    /// When the next young query will have stayed long enough.
    private var lookAgainAt: Timestamp?

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Records the indexes that exist when the database is opened.
    mutating func open(_ indexes: [TableIndex]) { existing = Set(indexes) }

    mutating func add(_ query: Query, schema: Schema) {
        guard let index = IndexPolicy.index(for: query, schema: schema) else { return }
        if demands.count >= Self.demandCountMax { demands = demands.filter { $0.value.queryCount > 0 } }
        demands[index, default: Demand()].queryCount += 1
        demands[index]?.beginningCount += 1
        mustLook = true
    }

    mutating func remove(_ query: Query, schema: Schema) {
        guard let index = IndexPolicy.index(for: query, schema: schema), let demand = demands[index],
            demand.queryCount > 0
        else { return }
        demands[index]?.queryCount -= 1
        if demand.queryCount == 1 { demands[index]?.since = nil }
        mustLook = true
    }

    /// Counts all queries again, after the schema has grown and with it the indexes that they want.
    mutating func replace(_ queries: some Sequence<Query>, schema: Schema) {
        let before = demands
        demands = [:]
        for query in queries { add(query, schema: schema) }
        for (index, demand) in before where demands[index] != nil {
            demands[index]?.beginningCount = demand.beginningCount
            demands[index]?.since = demand.since
        }
        mustLook = true
    }

    /// Whether to ask for the next step: the demand has changed, a query has stayed long enough, or the database has
    /// changed much.
    func isDue(now: Timestamp, version: UInt64) -> Bool {
        mustLook || version >= lookedAtVersion + limits.retentionVersionCount || lookAgainAt.map { now >= $0 } ?? false
    }

    /// The next step; nil if there is nothing to do.
    ///
    /// - Parameter rowCount: returns the approximate number of rows of a class.
    mutating func next(now: Timestamp, version: UInt64, rowCount: (Int) throws -> Int) rethrows -> Step? {
        mustLook = false
        lookedAtVersion = version
        lookAgainAt = nil
        idle = idle.filter { !isWanted($0.key) }
        for index in existing where !isWanted(index) && idle[index] == nil {
            idle[index] = Idle(since: now, version: version)
        }
        let outdated = idle.filter { index, idle in
            !failed.contains(index) && version >= idle.version + limits.retentionVersionCount
                && now.microseconds - idle.since.microseconds >= limits.retentionMicroseconds
        }
        if let index = outdated.keys.min(by: Self.precedes) { return .drop(index) }
        for index in missing(now: now) where try isWorthwhile(index, rowCount(index.classIndex)) {
            if existing.count(where: { $0.classIndex == index.classIndex }) < limits.countOfClassMax {
                return .make(index)
            }
            // An index that nobody wants makes room, the one that has been unwanted longest first.
            let unwanted = idle.filter { $0.key.classIndex == index.classIndex && !failed.contains($0.key) }
            if let (index, _) = unwanted.min(by: {
                ($0.value.since, $0.value.version) < ($1.value.since, $1.value.version)
            }
            ) {
                return .drop(index)
            }
        }
        return nil
    }

    /// The indexes that lasting queries want and that do not exist, those that most queries want first.
    private mutating func missing(now: Timestamp) -> [TableIndex] {
        var missing: [(index: TableIndex, queryCount: Int)] = []
        for (index, demand) in demands where demand.queryCount > 0 {
            guard !existing.contains(index), !failed.contains(index) else { continue }
            let since = demand.since ?? now
            demands[index]?.since = since
            let settled = Timestamp(microseconds: since.microseconds + limits.settlingMicroseconds)
            if now >= settled || demand.beginningCount >= limits.settlingCount {
                missing.append((index, demand.queryCount))
            } else {
                lookAgainAt = min(lookAgainAt ?? settled, settled)
            }
        }
        missing.sort {
            $0.queryCount != $1.queryCount ? $0.queryCount > $1.queryCount : Self.precedes($0.index, $1.index)
        }
        return missing.map(\.index)
    }

    private func isWanted(_ index: TableIndex) -> Bool { demands[index].map { $0.queryCount > 0 } ?? false }

    private func isWorthwhile(_ index: TableIndex, _ rowCount: Int) -> Bool {
        rowCount <= limits.rowCountMax && (rowCount >= limits.rowCountMin || isScannedOften(index, rowCount))
    }

    private func isScannedOften(_ index: TableIndex, _ rowCount: Int) -> Bool {
        rowCount >= limits.scannedRowCountMin.ofClass
            && rowCount * (demands[index]?.queryCount ?? 0) >= limits.scannedRowCountMin.ofAll
    }

    /// Why an index that a query wants does not exist; nil if it does.
    ///
    /// - Parameter rowCount: the approximate number of rows of its class.
    func remark(on index: TableIndex, rowCount: Int) -> String? {
        if existing.contains(index) { return nil }
        if failed.contains(index) { return "it could not be made; that is tried again when the server starts anew" }
        if rowCount < limits.rowCountMin, !isScannedOften(index, rowCount) {
            return "the class has \(rowCount) rows; indexes are made from \(limits.rowCountMin) on, "
                + "or where many queries want the same"
        }
        if rowCount > limits.rowCountMax {
            return
                "the class has \(rowCount) rows, and none is made beyond \(limits.rowCountMax); declare it in the schema"
        }
        let others = existing.filter { $0.classIndex == index.classIndex }
        if others.count >= limits.countOfClassMax, others.allSatisfy(isWanted) {
            return
                "the class has \(others.count) automatic indexes, all wanted by live queries; declare it in the schema"
        }
        return "it is made once clients have observed the query for \(limits.settlingMicroseconds / 1_000_000) s"
    }

    /// Records that a step was carried out; another one may follow.
    mutating func done(_ step: Step) {
        switch step {
        case .make(let index): existing.insert(index)
        case .drop(let index):
            existing.remove(index)
            idle[index] = nil
        }
        mustLook = true
    }

    mutating func failed(_ step: Step) {
        switch step {
        case .make(let index), .drop(let index): failed.insert(index)
        }
    }

    private static func precedes(_ left: TableIndex, _ right: TableIndex) -> Bool {
        if left.classIndex != right.classIndex { return left.classIndex < right.classIndex }
        return left.columns.map(\.property).lexicographicallyPrecedes(right.columns.map(\.property))
    }
}
