package import SluiceModel

/// Tells merging what was done to one object after a version. Valid until the next entry of the log.
package struct ObjectHistory {
    private let trail: ObjectTrail?
    private let version: UInt64

    /// The history of an object to which nothing was done.
    package init() {
        trail = nil
        version = 0
    }

    /// - Parameter version: the version after which the history begins.
    package init(_ trail: ObjectTrail, since version: UInt64) {
        self.trail = trail
        self.version = version
    }

    /// The deletion, if the object was deleted and not created again.
    package var deleted: WriteStamp? { trail?.deleted.flatMap { $0.version > version ? $0 : nil } }

    /// The latest assignment of a property by stamp. O(log n) in the assignments.
    package func latestAssignment(of property: Int) -> WriteStamp? {
        trail?.latestAssignment(of: property, since: version)
    }

    /// The amounts of the additions to a property that are later than a stamp, to be added one after the other.
    /// Neighbouring additions may come as their sum.
    package func additions(to property: Int, laterThan stamp: WriteStamp) -> [Value] {
        trail?.additions(to: property, since: version, laterThan: stamp) ?? []
    }
}
