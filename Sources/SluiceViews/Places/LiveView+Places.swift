package import SluiceModel
package import SluiceQuery

/// Where the results of a view stand, for readers that do not evaluate queries.
extension LiveView {
    /// The properties of results that the order reads directly.
    package var placingProperties: PropertySet { query.form.sortDependencies.rootProperties }

    /// Whether the order reads other objects than the results themselves.
    package var placesByLinks: Bool { !query.form.sortDependencies.linkPaths.isEmpty }

    /// The place of a result in the view's order, as a text that orders as the results do.
    ///
    /// - Parameters:
    ///   - row: the object, with the properties of ``placingProperties``.
    ///   - source: the state that the row is of.
    package func placeText(of row: Row, ofClass classIndex: Int, in source: any ObjectSource) throws -> String {
        let sort = query.form.sort
        let values = sort.isEmpty ? [] : try evaluator.sortValues(of: row, in: readable(source))
        let id = Identity(className: schema[classIndex].name, key: row.key).objectID
        return PlaceText.of(values, sort.map(\.isAscending), id)
    }

    /// Whether an object is a result.
    package func isResult(_ object: ObjectRef, in source: any ObjectSource) throws -> Bool {
        guard object.classIndex == query.classIndex || query.form.isOfObject else { return false }
        return try isRoot(object, in: readable(source))
    }

    /// The results whose places read some objects through links.
    ///
    /// - Complexity: that of following each path of the order back from each object.
    package func results(placedBy objects: some Sequence<ObjectRef>, in source: any ObjectSource) throws -> [ObjectRef]
    {
        let paths = query.form.sortDependencies.linkPaths
        guard !paths.isEmpty else { return [] }
        let nothing = CommitDelta(changes: [], version: 0)
        var found: Set<ObjectRef> = []
        for object in objects {
            for path in paths where path.targetClass == object.classIndex {
                found.formUnion(
                    try PathDependents.roots(leadingTo: object, by: path.links, nothing, in: source))
            }
        }
        return try found.sorted().filter { try isResult($0, in: source) }
    }
}
