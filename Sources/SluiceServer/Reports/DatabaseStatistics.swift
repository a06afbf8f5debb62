internal import SluiceModel

/// Counts what a database has done since it was opened.
package struct DatabaseStatistics: Sendable, Hashable {
    package internal(set) var commits = CommitCounts()
    package internal(set) var sentPageCount: UInt64 = 0
    package internal(set) var sentBlockCount: UInt64 = 0
    /// How many views had to work out what commits change for them.
    package internal(set) var concernedViewCount: UInt64 = 0
    package internal(set) var sentDigestCount: UInt64 = 0
    package internal(set) var starts = StartCounts()
    package internal(set) var sharedPages = SharedPageCounts()
    package internal(set) var times = CommitTimes()
    /// How long it took from a request for a subscription that had to be sent pages to the last page.
    package internal(set) var bootstraps = DurationHistogram()
    /// How many subscriptions were refused because of their users' quotas.
    package internal(set) var refusedSubscriptionCount: UInt64 = 0

    package static func += (left: inout DatabaseStatistics, right: DatabaseStatistics) {
        left.commits += right.commits
        left.sentPageCount += right.sentPageCount
        left.sentBlockCount += right.sentBlockCount
        left.concernedViewCount += right.concernedViewCount
        left.sentDigestCount += right.sentDigestCount
        left.starts += right.starts
        left.sharedPages += right.sharedPages
        left.times += right.times
        left.bootstraps += right.bootstraps
        left.refusedSubscriptionCount += right.refusedSubscriptionCount
    }
}
