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
}
