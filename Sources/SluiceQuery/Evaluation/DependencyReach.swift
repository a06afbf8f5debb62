internal import SluiceModel

/// Tells whether an object, and the objects that a query's paths lead to, have all properties that the query reads:
/// properties that another query excludes may be absent.
struct DependencyReach: Sendable {
    private let classIndex: Int
    private let rootProperties: PropertySet
    private let paths: [QueryDependencies.LinkPath]
    private let readsBacklinks: Bool

    init(_ dependencies: QueryDependencies, classIndex: Int) {
        self.classIndex = classIndex
        rootProperties = dependencies.rootProperties
        paths = dependencies.linkPaths.filter { !$0.properties.isEmpty }
        readsBacklinks = dependencies.readsBacklinks
    }

    /// The properties that must be here for a row to be judged; nil where other objects count, too.
    func neededProperties(trustsBacklinks: Bool) -> PropertySet? {
        paths.isEmpty && (trustsBacklinks || !readsBacklinks) ? rootProperties : nil
    }

    func isHere(_ row: Row, in source: any ObjectSource, trustsBacklinks: Bool) throws -> Bool {
        if readsBacklinks, !trustsBacklinks { return false }
        guard row.absent.isEmpty || row.absent.intersection(rootProperties).isEmpty else { return false }
        if paths.isEmpty { return true }
        for path in paths {
            guard try isHere(path, behind: row, ofClass: classIndex, from: 0, in: source) else { return false }
        }
        return true
    }

    /// Whether no property that the path reads at its end is absent there.
    private func isHere(
        _ path: QueryDependencies.LinkPath, behind row: Row, ofClass classIndex: Int, from index: Int,
        in source: any ObjectSource
    ) throws -> Bool {
        guard index < path.links.count else {
            return row.absent.isEmpty || row.absent.intersection(path.properties).isEmpty
        }
        let link = path.links[index]
        var isHere = true
        func visit(_ key: ObjectKey) throws -> Bool {
            if let target = try source.row(ObjectRef(link.targetClass, key)) {
                isHere = try self.isHere(path, behind: target, ofClass: link.targetClass, from: index + 1, in: source)
            }
            return isHere
        }
        if link.isBacklink {
            try source.backlinks(
                to: ObjectRef(classIndex, row.key), fromClass: link.classIndex, property: link.property, visit)
            return isHere
        }
        _ = try row.values[link.property].anyLink { try !visit($0) }
        return isHere
    }
}
