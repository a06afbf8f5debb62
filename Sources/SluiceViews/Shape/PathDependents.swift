package import SluiceModel
package import SluiceQuery

/// Finds the roots whose predicate or sort reads changed objects through links.
package struct PathDependents: Sendable {
    private let paths: [QueryDependencies.LinkPath]

    package init(_ dependencies: QueryDependencies) {
        paths = dependencies.linkPaths
    }

    var isEmpty: Bool { paths.isEmpty }

    /// Finds the roots that reach a changed object through a path, each with the positions of those changes in the
    /// commit. The caller must evaluate whether anything changes for such a root.
    ///
    /// For forward links, the state after the group suffices: a root that reached a changed object only through a link
    /// that is gone still reaches the object that lost the link, or is that object. Where a path follows a link
    /// backwards, the root is at the target of the link, so the links of both images of a changed object are followed.
    package func roots(
        affectedBy commit: CommitDelta, in source: any ObjectSource
    ) throws -> [(object: ObjectRef, changes: [Int])] {
        try roots(affectedBy: commit, in: source, atMost: .max) ?? []
    }

    /// Does the same, unless there are more roots than `countMax`; then the result is nil.
    func roots(
        affectedBy commit: CommitDelta, in source: any ObjectSource, atMost countMax: Int
    ) throws -> [(object: ObjectRef, changes: [Int])]? {
        var affected: [ObjectRef: [Int]] = [:]
        var order: [ObjectRef] = []
        for path in paths where commit.classes.contains(path.targetClass) {
            for (position, change) in commit.changes.enumerated() {
                guard change.object.classIndex == path.targetClass, change.concerns(path.properties) else { continue }
                let roots = try Self.roots(
                    leadingTo: change.object, by: path.links, commit, in: source, atMost: countMax)
                guard let roots, order.count + roots.count <= countMax || countMax == .max else { return nil }
                for root in roots {
                    if affected[root] == nil { order.append(root) }
                    affected[root, default: []].append(position)
                }
            }
        }
        return order.map { ($0, affected[$0] ?? []) }
    }

    /// The objects from which a chain of links leads to a changed object, or led before the change, each once.
    package static func roots(
        leadingTo object: ObjectRef, by links: [QueryDependencies.Link], _ commit: CommitDelta,
        in source: any ObjectSource
    ) throws -> [ObjectRef] {
        try roots(leadingTo: object, by: links, commit, in: source, atMost: .max) ?? []
    }

    /// Does the same, unless there are more objects than `countMax` after one of the links; then the result is nil.
    static func roots(
        leadingTo object: ObjectRef, by links: [QueryDependencies.Link], _ commit: CommitDelta,
        in source: any ObjectSource, atMost countMax: Int
    ) throws -> [ObjectRef]? {
        var reached = [object]
        for link in links.reversed() {
            var seen: Set<ObjectRef> = []
            var next: [ObjectRef] = []
            func reach(_ object: ObjectRef) {
                if seen.insert(object).inserted { next.append(object) }
            }
            for target in reached {
                if link.isBacklink {
                    let change = commit.change(of: target)
                    for row in [change?.old, try source.row(target)] {
                        row?.forEachLink(in: link.property) { reach(ObjectRef(link.sourceClass, $0)) }
                    }
                    continue
                }
                try source.backlinks(to: target, fromClass: link.classIndex, property: link.property) { key in
                    reach(ObjectRef(link.classIndex, key))
                    return next.count <= countMax
                }
                if next.count > countMax { return nil }
            }
            reached = next
        }
        return reached
    }

    /// The positions in the commit of the changes that some roots read, found from the roots: what
    /// ``roots(affectedBy:in:)`` says of them.
    ///
    /// - Parameters:
    ///   - source: the state after the group.
    ///   - before: the state before it.
    /// - Complexity: that of following each path from each root, and O(changes).
    func causes(
        of roots: [ObjectRef], in commit: CommitDelta, _ source: any ObjectSource, before: any ObjectSource
    ) throws -> [ObjectRef: [Int]] {
        var causes: [ObjectRef: [Int]] = [:]
        for path in paths where commit.classes.contains(path.targetClass) {
            var positions: [ObjectRef: Int] = [:]
            for (position, change) in commit.changes.enumerated()
            where change.object.classIndex == path.targetClass && change.concerns(path.properties) {
                positions[change.object] = position
            }
            guard !positions.isEmpty else { continue }
            for root in roots {
                let ends = try Self.objects(from: root, by: path.links, in: source, before: before)
                let found = ends.compactMap { positions[$0] }
                if !found.isEmpty { causes[root, default: []] += found.sorted() }
            }
        }
        return causes
    }

    /// The objects to which a chain of links leads from one. Backlinks are followed in both states.
    private static func objects(
        from root: ObjectRef, by links: [QueryDependencies.Link], in source: any ObjectSource,
        before: any ObjectSource
    ) throws -> Set<ObjectRef> {
        var reached: Set<ObjectRef> = [root]
        for link in links {
            var next: Set<ObjectRef> = []
            for object in reached {
                guard link.isBacklink else {
                    try source.row(object)?.forEachLink(in: link.property) {
                        next.insert(ObjectRef(link.targetClass, $0))
                    }
                    continue
                }
                for state in [before, source] {
                    try state.backlinks(to: object, fromClass: link.classIndex, property: link.property) { key in
                        next.insert(ObjectRef(link.classIndex, key))
                        return true
                    }
                }
            }
            reached = next
        }
        return reached
    }
}
