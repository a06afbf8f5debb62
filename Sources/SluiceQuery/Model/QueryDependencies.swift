package import SluiceModel

/// The properties that a predicate or a sort reads: from the object itself, and from objects at the end of links.
package struct QueryDependencies: Sendable {
    /// A link on a path, named by the positions of its class and its property.
    package struct Link: Hashable, Sendable {
        package let classIndex: Int
        package let property: Int
        /// Whether the path goes from the link's target to the object that has the link.
        package let isBacklink: Bool
        /// The class that the path comes from: `classIndex` or, for a backlink, the class of the link's target.
        package let sourceClass: Int
        /// The class that the path goes on to.
        package let targetClass: Int
    }

    /// One chain of links that paths follow; every prefix of a chain is a chain of its own.
    package struct LinkPath: Sendable {
        /// From the queried class outwards.
        package let links: [Link]
        /// The class at the end of the chain.
        package let targetClass: Int
        /// The properties that are read from an object at the end: further links included and, after a backlink, the
        /// link that led there. Whether the object is present always matters.
        package internal(set) var properties: PropertySet
    }

    /// The properties that are read from the object itself, links included.
    package private(set) var rootProperties: PropertySet = []
    /// Each chain once, after its prefixes.
    package private(set) var linkPaths: [LinkPath] = []

    /// - Parameter paths: paths of the queried object; what their subqueries read is added.
    package init(paths: [Query.Path]) {
        for path in paths { add(path, scopes: [[]]) }
    }

    /// Whether any chain follows a link backwards.
    package var readsBacklinks: Bool { linkPaths.contains { $0.links.contains(where: \.isBacklink) } }

    /// - Parameter scopes: for each scope, the chain that leads to its object.
    private mutating func add(_ path: Query.Path, scopes: [[Link]]) {
        var links = scopes[path.scope]
        for step in path.steps { follow(step, &links) }
        if let property = path.leafProperty { read(property, at: links) }
        switch (path.leaf, path.type) {
        case (.link(let property), .link(let target)), (.elements(let property), .link(let target)),
            (.whole(let property), .link(let target)), (.presence(let property, let target), _):
            follow(
                Query.Path.Step(
                    sourceClass: path.leafClass, classIndex: path.leafClass, property: property, targetClass: target,
                    isToMany: false), &links)
        case (.backlinkCount(let backlinks), _):
            for backlink in backlinks {
                var chain = links
                follow(
                    Query.Path.Step(
                        sourceClass: path.leafClass, classIndex: backlink.classIndex, property: backlink.property,
                        targetClass: backlink.classIndex, isToMany: true, isBacklink: true), &chain)
            }
        case (.aggregate(_, let elements), _): add(elements, scopes: [links])
        case (.subquery(let subquery), _): add(subquery, scopes)
        default: break
        }
    }

    private mutating func add(_ subquery: Query.Subquery, _ scopes: [[Link]]) {
        var links = scopes[subquery.collection.scope]
        for step in subquery.collection.steps { follow(step, &links) }
        var paths: [Query.Path] = []
        subquery.predicate.forEachComparison { paths += $0.paths }
        for path in paths { add(path, scopes: scopes.prefix(subquery.scope) + [links]) }
    }

    private mutating func follow(_ step: Query.Path.Step, _ links: inout [Link]) {
        if !step.isBacklink { read(step.property, at: links) }
        links.append(
            Link(
                classIndex: step.classIndex, property: step.property, isBacklink: step.isBacklink,
                sourceClass: step.sourceClass, targetClass: step.targetClass))
        enter(links, targetClass: step.targetClass)
        if step.isBacklink { read(step.property, at: links) }
    }

    private mutating func read(_ property: Int, at links: [Link]) {
        if links.isEmpty {
            rootProperties.insert(property)
        } else if let index = linkPaths.firstIndex(where: { $0.links == links }) {
            linkPaths[index].properties.insert(property)
        }
    }

    private mutating func enter(_ links: [Link], targetClass: Int) {
        guard !linkPaths.contains(where: { $0.links == links }) else { return }
        linkPaths.append(LinkPath(links: links, targetClass: targetClass, properties: []))
    }

    /// The properties that are read from objects of each class, the queried class included.
    ///
    /// - Parameter rootClass: the position of the queried class.
    package func referencedProperties(rootClass: Int) -> [Int: PropertySet] {
        var result = [rootClass: rootProperties]
        for path in linkPaths { result[path.targetClass, default: []].formUnion(path.properties) }
        return result
    }
}
