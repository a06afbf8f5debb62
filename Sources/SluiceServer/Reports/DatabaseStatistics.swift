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
    package var sharedPages = SharedPageCounts()

    mutating func note(_ group: CommittedGroup) {
        groupCount += 1
        commitCount += UInt64(group.authors.count)
        changedObjectCount += UInt64(group.delta.changes.count)
        supersededOperationCount += UInt64(group.supersededCount)
        rejectedChangesetCount += UInt64(group.rejections.count)
    }
}

/// Counts the work for pages that clients share.
package struct SharedPageCounts: Sendable, Hashable {
    /// How many pages were read and encoded.
    package internal(set) var read: UInt64 = 0
    /// How many were read again, since an object in them had changed.
    package internal(set) var readAgain: UInt64 = 0
    /// How many subscriptions began with a page that was there already.
    package internal(set) var joined: UInt64 = 0
    /// How many went on in another run, since their next page had been dropped.
    package internal(set) var forked: UInt64 = 0

    package init() {}

    package static func += (left: inout SharedPageCounts, right: SharedPageCounts) {
        left.read += right.read
        left.readAgain += right.readAgain
        left.joined += right.joined
        left.forked += right.forked
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
