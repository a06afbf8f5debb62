internal import SluiceViews

/// Counts what a database has done since it was opened.
package struct DatabaseStatistics: Sendable, Hashable {
    package var commitCount: UInt64 = 0
    package var groupCount: UInt64 = 0
    package var changedObjectCount: UInt64 = 0
    package var supersededOperationCount: UInt64 = 0
    package var rejectedChangesetCount: UInt64 = 0
    package var sentPageCount: UInt64 = 0
    package var sentBlockCount: UInt64 = 0
    package var sentDigestCount: UInt64 = 0
    package var starts = StartCounts()

    mutating func note(_ group: CommittedGroup) {
        groupCount += 1
        commitCount += UInt64(group.authors.count)
        changedObjectCount += UInt64(group.delta.changes.count)
        supersededOperationCount += UInt64(group.supersededCount)
        rejectedChangesetCount += UInt64(group.rejections.count)
    }
}

/// Counts how subscriptions were started.
package struct StartCounts: Sendable, Hashable {
    package enum Path: Int, Sendable, CaseIterable {
        /// What the client had was still right.
        case current
        /// The log had what the client missed.
        case replayed
        /// The log did not reach back, but the client's digest equalled that of the view.
        case equal
        /// The client listed its members.
        case compared
        /// Everything was sent.
        case anew
    }

    private var counts = [UInt64](repeating: 0, count: Path.allCases.count)

    package init() {}

    package static func + (left: StartCounts, right: StartCounts) -> StartCounts {
        var sum = left
        for path in Path.allCases { sum[path] += right[path] }
        return sum
    }

    package static func += (left: inout StartCounts, right: StartCounts) { left = left + right }

    package internal(set) subscript(path: Path) -> UInt64 {
        get { counts[path.rawValue] }
        set { counts[path.rawValue] = newValue }
    }
}
