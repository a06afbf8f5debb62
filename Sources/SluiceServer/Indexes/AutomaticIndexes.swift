internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// Keeps account of the indexes that live queries want, and says which to make or drop next. Touches no storage.
package struct AutomaticIndexes {
    /// When an index is worth its cost.
    package struct Limits: Sendable {
        /// A class with fewer rows is scanned fast enough.
        package var rowCountMin = 5_000
        /// Making an index stops the database for one to two and a half microseconds a row: up to about a second. Larger
        /// classes need indexes that the schema declares.
        package var rowCountMax = 500_000
        /// Each index makes every write of the class a little slower.
        package var countOfClassMax = 6
        /// An index that no live query wants is kept for so long, and for so many versions.
        package var retentionMicroseconds: Int64 = 3_600_000_000
        package var retentionVersionCount: UInt64 = 1_000

        package init() {}
    }

    enum Step: Hashable {
        case make(TableIndex)
        case drop(TableIndex)
    }

    private struct Idle {
        let since: Timestamp
        let version: UInt64
    }

    private let limits: Limits
    private var existing: Set<TableIndex> = []
    /// How many live queries want an index.
    private var wanted: [TableIndex: Int] = [:]
    /// The indexes that nothing wants, and since when.
    private var idle: [TableIndex: Idle] = [:]
    /// Indexes that could not be made or dropped; left alone until the database is opened again.
    private var failed: Set<TableIndex> = []
    private var mustLook = true
    private var lookedAtVersion: UInt64 = 0

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Takes note of the indexes that are there when the database is opened.
    mutating func open(_ indexes: [TableIndex]) { existing = Set(indexes) }

    mutating func add(_ query: Query, schema: Schema) {
        guard let index = IndexPolicy.index(for: query, schema: schema) else { return }
        wanted[index, default: 0] += 1
        mustLook = true
    }

    mutating func remove(_ query: Query, schema: Schema) {
        guard let index = IndexPolicy.index(for: query, schema: schema), let count = wanted[index] else { return }
        wanted[index] = count > 1 ? count - 1 : nil
        mustLook = true
    }

    /// Takes note of all queries anew, after the schema has grown and with it what is wanted.
    mutating func replace(_ queries: some Sequence<Query>, schema: Schema) {
        wanted = [:]
        for query in queries { add(query, schema: schema) }
        mustLook = true
    }

    /// Whether it is time to ask for the next step: what is wanted has changed, or the database has by much.
    func isDue(version: UInt64) -> Bool { mustLook || version >= lookedAtVersion + limits.retentionVersionCount }

    /// What to do next; nil if all is well.
    ///
    /// - Parameter rowCount: about how many rows a class has.
    mutating func next(now: Timestamp, version: UInt64, rowCount: (Int) throws -> Int) rethrows -> Step? {
        mustLook = false
        lookedAtVersion = version
        idle = idle.filter { wanted[$0.key] == nil }
        for index in existing where wanted[index] == nil && idle[index] == nil {
            idle[index] = Idle(since: now, version: version)
        }
        let droppable = idle.filter { index, idle in
            !failed.contains(index) && version >= idle.version + limits.retentionVersionCount
                && now.microseconds - idle.since.microseconds >= limits.retentionMicroseconds
        }
        if let index = droppable.keys.min(by: Self.precedes) { return .drop(index) }
        // What most queries want comes first.
        let missing = wanted.filter { !existing.contains($0.key) && !failed.contains($0.key) }.sorted {
            $0.value != $1.value ? $0.value > $1.value : Self.precedes($0.key, $1.key)
        }
        for (index, _) in missing {
            let rowCount = try rowCount(index.classIndex)
            guard rowCount >= limits.rowCountMin, rowCount <= limits.rowCountMax,
                existing.count(where: { $0.classIndex == index.classIndex }) < limits.countOfClassMax
            else { continue }
            return .make(index)
        }
        return nil
    }

    /// Takes note that a step was taken; there may be another.
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
