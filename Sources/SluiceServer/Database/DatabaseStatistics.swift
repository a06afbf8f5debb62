internal import SluiceViews

/// What a database has done since it was opened.
package struct DatabaseStatistics: Sendable, Hashable {
    package var commitCount: UInt64 = 0
    package var groupCount: UInt64 = 0
    package var changedObjectCount: UInt64 = 0
    package var supersededOperationCount: UInt64 = 0
    package var rejectedChangesetCount: UInt64 = 0
    package var sentPageCount: UInt64 = 0
    package var sentBlockCount: UInt64 = 0

    mutating func note(_ group: CommittedGroup) {
        groupCount += 1
        commitCount += UInt64(group.authors.count)
        changedObjectCount += UInt64(group.delta.changes.count)
        supersededOperationCount += UInt64(group.supersededCount)
        rejectedChangesetCount += UInt64(group.rejections.count)
    }
}
