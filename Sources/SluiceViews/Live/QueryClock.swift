package import SluiceModel
package import SluiceQuery

/// Knows when time changes the results of a live query with `$now`, so that one timer serves all of them.
///
/// For each date property and shift that some query compares with `$now` (``TimeEdge``) it keeps the time at which the next
/// date passes, or an earlier one: a date that was changed or deleted leaves its time here until it comes, and is then
/// found to be gone. Looking for the next date is O(log n) with an index of the property. Views share an edge, however
/// many they are.
package final class QueryClock {
    private struct Entry {
        /// How many views compare with it.
        var holderCount = 0
        /// Until when it is kept without a view.
        var keptUntil: Timestamp
        /// Whether it is also kept until the next date has passed, since a job waits for that.
        var isAwaited = false
        /// When the next date passes, or earlier; nil if none will.
        var next: Timestamp?
    }

    /// How long an edge is kept for a query that is about to begin, in microseconds.
    private static let keptTime: Int64 = 60_000_000
    /// The most edges without a view; the one that was named first is forgotten.
    private static let idleCountMax = 1_024
    /// How far moments at which time moves are apart, in microseconds: what comes due in between waits.
    private static let spacing: Int64 = 10_000
    /// How long to wait after a failure, in microseconds.
    private static let retryTime: Int64 = 1_000_000

    private var schema: Schema
    private var entries: [TimeEdge: Entry] = [:]
    private var edgesByClass: [Int: Set<TimeEdge>] = [:]
    /// The earliest time of ``entries``.
    private var earliest: Timestamp?
    private var notBefore = Timestamp(microseconds: .min)

    package init(schema: Schema) { self.schema = schema }

    /// Whether no query compares with the time.
    package var isEmpty: Bool { entries.isEmpty }

    /// When time has to move; nil if it need not.
    package var next: Timestamp? { earliest.map { max($0, notBefore) } }

    /// Whether a job waits for a date to pass.
    package var isAwaited: Bool { entries.values.contains { $0.isAwaited && $0.next != nil } }

    // MARK: Who asks

    /// Notes a view, which has followed all commits.
    ///
    /// - Parameter time: the time that the view is at; nil for that of the source.
    package func hold(_ query: Query, since time: Timestamp? = nil, in source: any ViewSource) {
        for edge in query.form.timeEdges { add(edge, since: time, in: source) { $0.holderCount += 1 } }
    }

    /// Notes that a view is gone.
    package func release(_ query: Query) {
        for edge in query.form.timeEdges { entries[edge]?.holderCount -= 1 }
    }

    /// Notes a query that is about to begin, or that a job runs.
    ///
    /// - Parameter isAwaited: whether time has to move when the next date passes, whether or not a view sees it.
    package func name(_ query: Query, isAwaited: Bool, now: Timestamp, in source: any ViewSource) {
        for edge in query.form.timeEdges {
            add(edge, in: source) { entry in
                entry.keptUntil = now.advanced(by: Self.keptTime)
                if isAwaited { entry.isAwaited = true }
            }
        }
        dropIdle(now: now)
    }

    private func add(
        _ edge: TimeEdge, since time: Timestamp? = nil, in source: any ViewSource, _ change: (inout Entry) -> Void
    ) {
        var entry = entries[edge] ?? Entry(keptUntil: source.now)
        if entries[edge] == nil {
            edgesByClass[edge.classIndex, default: []].insert(edge)
            entry.next = find(edge, after: time ?? source.now, in: source)
        }
        change(&entry)
        entries[edge] = entry
        noteEarlier(entry.next)
    }

    private func dropIdle(now: Timestamp) {
        var idle: [(edge: TimeEdge, keptUntil: Timestamp)] = []
        for (edge, entry) in entries where entry.holderCount <= 0 {
            let isAwaited = entry.isAwaited && entry.next != nil
            if entry.keptUntil < now, !isAwaited { remove(edge) } else { idle.append((edge, entry.keptUntil)) }
        }
        guard idle.count > Self.idleCountMax else { return }
        idle.sort { $0.keptUntil < $1.keptUntil }
        for (edge, _) in idle.dropLast(Self.idleCountMax) { remove(edge) }
    }

    private func remove(_ edge: TimeEdge) {
        entries[edge] = nil
        edgesByClass[edge.classIndex]?.remove(edge)
        if edgesByClass[edge.classIndex]?.isEmpty ?? false { edgesByClass[edge.classIndex] = nil }
    }

    /// Forgets everything, since the schema has changed in another way than by growing.
    package func removeAll(schema: Schema) {
        self.schema = schema
        entries = [:]
        edgesByClass = [:]
        earliest = nil
    }

    /// Goes on with a schema that has grown.
    package func grow(to schema: Schema) { self.schema = schema }

    // MARK: Time

    /// Whether a date has passed since a time, also where ``next`` would wait. O(log n) for each edge that may be due.
    ///
    /// - Parameters:
    ///   - now: the present.
    ///   - time: the time that all views are at; nil for that of the source.
    package func isDue(at now: Timestamp, since time: Timestamp? = nil, in source: any ViewSource) -> Bool {
        guard let earliest, earliest <= now else { return false }
        dropIdle(now: now)
        var isDue = false
        for (edge, entry) in entries where entry.next.map({ $0 <= now }) ?? false {
            let next = find(edge, after: time ?? source.now, in: source)
            entries[edge]?.next = next
            if let next, next <= now { isDue = true }
        }
        findEarliest()
        return isDue
    }

    /// A commit with the objects whose dates have passed with it.
    ///
    /// - Parameters:
    ///   - source: the state after the commit.
    ///   - authors: whose change that is: positions in the engine's list of authors.
    /// - Throws: what the source throws.
    package func passing(
        _ commit: CommitDelta, in source: any ViewSource, by authors: [Int] = []
    ) throws -> CommitDelta {
        guard !entries.isEmpty, let time = commit.time else { return commit }
        note(commit)
        guard let earliest, earliest <= time.after else { return commit }
        let due = entries.filter { $0.value.next.map { $0 <= time.after } ?? false }.map(\.key)
        for edge in due {
            entries[edge]?.next = find(edge, after: time.after, in: source)
            entries[edge]?.isAwaited = false
        }
        findEarliest()
        notBefore = time.after.advanced(by: Self.spacing)
        return try commit.passing(due, in: source, schema: schema, by: authors) ?? commit
    }

    /// Notes that time could not move.
    package func noteFailure(now: Timestamp) { notBefore = now.advanced(by: Self.retryTime) }

    /// Notes the dates that a commit has written.
    private func note(_ commit: CommitDelta) {
        guard commit.classes.contains(where: { edgesByClass[$0] != nil }) else { return }
        for change in commit.changes {
            guard let edges = edgesByClass[change.object.classIndex], let row = change.new else { continue }
            for edge in edges where change.concerns([edge.property]) {
                guard case .date(let date) = row.values[edge.property] else { continue }
                let passing = edge.passing(of: date)
                guard entries[edge]?.next.map({ passing < $0 }) ?? true else { continue }
                entries[edge]?.next = passing
                noteEarlier(passing)
            }
        }
    }

    /// When the next date of an edge passes. What cannot be read is asked for again.
    private func find(_ edge: TimeEdge, after time: Timestamp, in source: any ViewSource) -> Timestamp? {
        do { return try edge.next(after: time, in: source, schema: schema) } catch is QueryError {
            // The property is gone, and with it what compared it.
            return nil
        } catch { return time.advanced(by: Self.retryTime) }
    }

    private func noteEarlier(_ time: Timestamp?) {
        guard let time else { return }
        earliest = min(earliest ?? time, time)
    }

    private func findEarliest() { earliest = entries.values.compactMap(\.next).min() }
}
