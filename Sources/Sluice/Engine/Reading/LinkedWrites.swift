internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// Finds the results of a query that pending writes of *linked* objects may have changed: those from which a path of the
/// condition or the sort leads to an object that has other values here than the server's last image of it, in what the
/// path reads there.
///
/// A path that changed on its way leads to such an object too: each prefix of a path is a path, and reads the next link.
struct LinkedWrites {
    private let classIndex: Int
    private let paths: [QueryDependencies.LinkPath]

    init(_ query: Query) {
        classIndex = query.classIndex
        paths = query.object == nil ? query.dependencies.linkPaths : []
    }

    /// Whether the results can depend on linked objects at all.
    var isPossible: Bool { !paths.isEmpty }

    /// Whether a path leads from an object to one with such writes.
    ///
    /// Reads the objects on the paths, and none while nothing is pending.
    func reach(_ row: Row, in state: any ObjectStanding) throws -> Bool {
        guard isPossible, state.hasPendingObjects else { return false }
        return try paths.contains { try reach($0, behind: row, ofClass: classIndex, from: 0, in: state) }
    }

    private func reach(
        _ path: QueryDependencies.LinkPath, behind row: Row, ofClass classIndex: Int, from index: Int,
        in state: any ObjectStanding
    ) throws -> Bool {
        let link = path.links[index]
        func leads(_ key: ObjectKey) throws -> Bool {
            let target = ObjectRef(link.targetClass, key)
            if index + 1 == path.links.count { return try isChanged(target, in: path.properties, of: state) }
            guard let row = try state.row(target) else { return false }
            return try reach(path, behind: row, ofClass: link.targetClass, from: index + 1, in: state)
        }
        guard link.isBacklink else { return try row.values[link.property].anyLink(leads) }
        var isFound = false
        try state.backlinks(
            to: ObjectRef(classIndex, row.key), fromClass: link.classIndex, property: link.property
        ) { key in
            isFound = try leads(key)
            return !isFound
        }
        return isFound
    }

    /// The objects of the queried class from which a path leads to such writes.
    ///
    /// - Parameter pending: the objects with pending writes.
    /// - Complexity: O(pending + objects that are found), with one search for the links to each object on the way.
    func roots(of pending: some Sequence<ObjectRef>, in state: any ObjectStanding) throws -> Set<ObjectRef> {
        var roots: Set<ObjectRef> = []
        guard isPossible else { return roots }
        let none = CommitDelta(changes: [], version: 0)
        for object in pending {
            for path in paths where path.targetClass == object.classIndex {
                guard try isChanged(object, in: path.properties, of: state) else { continue }
                roots.formUnion(try PathDependents.roots(leadingTo: object, by: path.links, none, in: state))
            }
        }
        return roots
    }

    /// Those of some objects with pending writes that paths lead to from objects that may not be here: a path reads of
    /// them what the writes have changed. To what was made here without a primary key nothing else links.
    func readByOthers(_ pending: some Sequence<ObjectRef>, in state: any ObjectStanding) throws -> [ObjectRef] {
        guard isPossible else { return [] }
        return try pending.filter { object in
            let isRead = try paths.contains {
                try $0.targetClass == object.classIndex && isChanged(object, in: $0.properties, of: state)
            }
            guard isRead, case .id = object.key, !paths.contains(where: { $0.links.contains(where: \.isBacklink) })
            else { return isRead }
            return if case .row? = try state.baseImage(of: object) { true } else { false }
        }
    }

    private func isChanged(
        _ object: ObjectRef, in properties: PropertySet, of state: any ObjectStanding
    ) throws -> Bool {
        guard try state.hasPending(object) else { return false }
        let image: Row? = if case .row(let row)? = try state.baseImage(of: object) { row } else { nil }
        return ObjectDelta(object: object, old: image, new: try state.row(object), authors: []).concerns(properties)
    }
}
