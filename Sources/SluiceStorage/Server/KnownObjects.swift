package import SluiceModel

/// What the maker of a group has found out about its objects, so that to apply the group nothing is looked up or made
/// again. It must be that of the group: nothing checks it.
package struct KnownObjects: Sendable {
    /// For each change of the group's transactions, in order, the number of its object.
    package var numbers: [Int]
    /// The objects before the group, by number; nil for one that was not there.
    package var before: [Row?]
    /// What each creation makes, in order; the versions do not count.
    package var created: [Row]

    package init(numbers: [Int], before: [Row?], created: [Row]) {
        self.numbers = numbers
        self.before = before
        self.created = created
    }
}
