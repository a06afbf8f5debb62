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
