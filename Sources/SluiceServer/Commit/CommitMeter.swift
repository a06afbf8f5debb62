package import SluiceModel
internal import SluiceStorage
internal import SluiceTransport

/// Measures how long the steps of commits take, and counts what comes of appends to a journal.
///
/// It lives as long as the engine, and belongs to the same thread. Nothing depends on what it measures.
final class CommitMeter {
    private(set) var times = CommitTimes()

    /// A monotonic clock, in nanoseconds.
    var now: Int64 { MonotonicClock.now }

    /// A group was prepared and stored.
    func note(from start: Int64, prepared: Int64) {
        times.prepare.note(prepared - start)
        times.sync.note(now - prepared)
    }

    /// A group was published.
    func notePublished(since start: Int64) { times.publish.note(now - start) }

    /// Appends to the journal, and counts what comes of it.
    func appending(_ body: () throws -> Void) throws {
        let start = now
        defer { times.append.note(now - start) }
        do {
            try body()
            times.appendedCount += 1
        } catch is JournalConflict {
            times.conflictCount += 1
            throw JournalConflict()
        } catch {
            times.failedAppendCount += 1
            throw error
        }
    }

    func noteTurn() { times.turnCount += 1 }

    func noteEpoch() { times.epochCount += 1 }
}

/// How long the steps of a database's commits have taken, and what came of its appends to a journal.
package struct CommitTimes: Sendable, Hashable {
    /// Merging a group against the state.
    package internal(set) var prepare = DurationHistogram()
    /// Appending it to the journal and storing it durably.
    package internal(set) var sync = DurationHistogram()
    /// Working out and encoding what it changes for whom.
    package internal(set) var publish = DurationHistogram()
    /// Appending to a journal that several servers share, whatever came of it.
    package internal(set) var append = DurationHistogram()
    package internal(set) var appendedCount: UInt64 = 0
    package internal(set) var conflictCount: UInt64 = 0
    package internal(set) var failedAppendCount: UInt64 = 0
    /// How often the turn to append was taken.
    package internal(set) var turnCount: UInt64 = 0
    /// How many epochs this engine has begun because the journal's history may have forked.
    package internal(set) var epochCount: UInt64 = 0

    static func += (left: inout CommitTimes, right: CommitTimes) {
        left.prepare += right.prepare
        left.sync += right.sync
        left.publish += right.publish
        left.append += right.append
        left.appendedCount += right.appendedCount
        left.conflictCount += right.conflictCount
        left.failedAppendCount += right.failedAppendCount
        left.turnCount += right.turnCount
        left.epochCount += right.epochCount
    }
}
