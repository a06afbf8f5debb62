package import SluiceModel

/// What was done to one object after a version, as far as merging needs it. Valid until the next entry of the log.
package struct ObjectHistory {
    private let trail: ObjectTrail?
    private let version: UInt64

    /// Nothing was done.
    package init() {
        trail = nil
        version = 0
    }

    /// - Parameter version: what was done up to it does not count.
    package init(_ trail: ObjectTrail, since version: UInt64) {
        self.trail = trail
        self.version = version
    }

    /// The deletion, if that was the last thing done to the object as a whole.
    package var deleted: WriteStamp? { trail?.deleted.flatMap { $0.version > version ? $0 : nil } }

    /// The latest assignment of a property by stamp. O(log n) in the assignments.
    package func latestAssignment(of property: Int) -> WriteStamp? {
        trail?.latestAssignment(of: property, since: version)
    }

    /// The additions to a property that are later than a stamp: amounts to be added one after the other. Neighbouring
    /// additions may come as their sum.
    package func additions(to property: Int, laterThan stamp: WriteStamp) -> [Value] {
        trail?.additions(to: property, since: version, laterThan: stamp) ?? []
    }
}
