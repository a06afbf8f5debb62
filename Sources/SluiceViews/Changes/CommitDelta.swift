package import SluiceModel

/// What one commit group changed: each object once, with its first old and its last new image. An object, since every
/// view that the group concerns takes it.
package final class CommitDelta: Sendable {
    package let changes: [ObjectDelta]
    /// The server version that the group leads to.
    package let version: UInt64
    /// The classes of the changed objects.
    package let classes: Set<Int>
    /// The position of each object in `changes`; empty where there are so few that looking through them is faster.
    private let positions: ObjectPositions

    private static let fewCount = 8

    /// - Precondition: no object occurs twice in `changes`.
    package init(changes: [ObjectDelta], version: UInt64) {
        self.changes = changes
        self.version = version
        var classes: Set<Int> = []
        var last: Int?
        for change in changes where change.object.classIndex != last {
            classes.insert(change.object.classIndex)
            last = change.object.classIndex
        }
        self.classes = classes
        guard changes.count > Self.fewCount else {
            positions = ObjectPositions()
            return
        }
        var positions = ObjectPositions()
        for change in changes {
            precondition(positions[change.object] == nil, "an object occurs twice")
            positions.append(change.object)
        }
        self.positions = positions
    }

    /// The change of an object; nil if the group did not change it.
    package func change(of object: ObjectRef) -> ObjectDelta? {
        guard positions.count > 0 else { return changes.first { $0.object == object } }
        return positions[object].map { changes[$0] }
    }
}
