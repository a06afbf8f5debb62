package import SluiceModel

/// What one commit group did to one object: its image before the first commit of the group and after the last. An
/// object, since every view that a commit concerns looks at its changes.
package final class ObjectDelta: Sendable {
    package let object: ObjectRef
    /// The object before the group; nil if it was absent (a ghost, or unknown).
    package let old: Row?
    /// The object after the group; nil if it is absent.
    package let new: Row?
    /// Which authors of the group's commits changed the object: positions in the engine's list of authors.
    package let authors: [Int]
    /// The properties whose values, or elements, differ between the two images, and those that were written although
    /// they do not differ, as far as that is told; empty when either is missing.
    package let changed: PropertySet
    /// The date properties that a `$now` of some query has passed with the group, whether or not they have changed.
    package let passed: PropertySet
    /// Whether the group created or deleted the object.
    package let changesPresence: Bool

    /// - Parameters:
    ///   - written: properties to count as changed although they may have got the value that they had.
    ///   - passed: date properties that a `$now` has passed.
    package init(
        object: ObjectRef, old: Row?, new: Row?, authors: [Int], written: PropertySet = [], passed: PropertySet = []
    ) {
        self.passed = passed
        self.object = object
        self.old = old
        self.new = new
        self.authors = authors
        if let old, let new {
            changed = new.differences(from: old).union(written)
            changesPresence = false
        } else {
            changed = []
            changesPresence = old != nil || new != nil
        }
    }

    /// Whether the group created or deleted the object, changed one of these properties, or let time pass one of them.
    package func concerns(_ properties: PropertySet) -> Bool { changesPresence || touches(properties) }

    /// Whether the group changed one of these properties, or let time pass one of them.
    func touches(_ properties: PropertySet) -> Bool {
        changed.meets(properties) || !passed.isEmpty && passed.meets(properties)
    }
}
