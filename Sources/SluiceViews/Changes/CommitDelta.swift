package import SluiceModel
internal import Synchronization

/// What one commit group changed: each object once, with its first old and its last new image. An object, since every
/// view that the group concerns takes it.
package final class CommitDelta: Sendable {
    /// The server version that the group leads to.
    package let version: UInt64
    /// The classes of the changed objects.
    package let classes: Set<Int>
    /// How many objects changed.
    package let changeCount: Int
    /// The times of the states before the group and after it; nil where the states tell their times themselves.
    package let time: TimeStep?
    private let content: Content

    private enum Content: Sendable {
        case known(ChangeList)
        case awaited(AwaitedChanges)
    }

    /// - Precondition: no object occurs twice in `changes`.
    package init(changes: [ObjectDelta], version: UInt64, time: TimeStep? = nil) {
        self.version = version
        self.time = time
        changeCount = changes.count
        var classes: Set<Int> = []
        var last: Int?
        for change in changes where change.object.classIndex != last {
            classes.insert(change.object.classIndex)
            last = change.object.classIndex
        }
        self.classes = classes
        content = .known(ChangeList(changes))
    }

    /// Makes the changes when somebody asks for them: most bulk imports are of classes that nobody watches.
    ///
    /// - Parameters:
    ///   - count: how many changes `make` makes.
    ///   - classes: the classes of their objects.
    ///   - make: makes the changes; called once at the most, by any thread. No object occurs twice in them.
    package init(
        count: Int, classes: Set<Int>, version: UInt64, time: TimeStep? = nil,
        _ make: @escaping @Sendable () -> [ObjectDelta]
    ) {
        self.version = version
        self.time = time
        self.classes = classes
        changeCount = count
        content = .awaited(AwaitedChanges(make))
    }

    private var list: ChangeList {
        switch content {
        case .known(let list): list
        case .awaited(let changes): changes.list
        }
    }

    package var changes: [ObjectDelta] { list.changes }

    /// The change of an object; nil if the group did not change it.
    package func change(of object: ObjectRef) -> ObjectDelta? {
        if case .awaited = content, !classes.contains(object.classIndex) { return nil }
        return list.change(of: object)
    }
}

/// Changes of objects, each of which is found.
private struct ChangeList: Sendable {
    let changes: [ObjectDelta]
    /// The position of each object in `changes`; empty where there are so few that looking through them is faster.
    private let positions: ObjectPositions

    private static let fewCount = 8

    init(_ changes: [ObjectDelta]) {
        self.changes = changes
        var positions = ObjectPositions()
        if changes.count > Self.fewCount {
            for change in changes {
                precondition(positions[change.object] == nil, "an object occurs twice")
                positions.append(change.object)
            }
        }
        self.positions = positions
    }

    func change(of object: ObjectRef) -> ObjectDelta? {
        guard positions.count > 0 else { return changes.first { $0.object == object } }
        return positions[object].map { changes[$0] }
    }
}

/// Changes that are made when they are first asked for.
private final class AwaitedChanges: Sendable {
    private let make: @Sendable () -> [ObjectDelta]
    private let made = Mutex<ChangeList?>(nil)

    init(_ make: @escaping @Sendable () -> [ObjectDelta]) { self.make = make }

    var list: ChangeList {
        made.withLock { made in
            if let made { return made }
            let list = ChangeList(make())
            made = list
            return list
        }
    }
}
