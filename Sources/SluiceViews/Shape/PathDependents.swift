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
}
