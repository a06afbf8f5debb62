package import SluiceModel

/// What a predicate or a sort reads: from the object itself, and from objects at the end of links.
package struct QueryDependencies: Sendable {
    /// A link property on the way, by the positions of its class and itself.
    package struct Link: Hashable, Sendable {
        package let classIndex: Int
        package let property: Int
    }

    /// One chain of links that paths follow; every beginning of a chain is a chain of its own.
    package struct LinkPath: Sendable {
        /// From the queried class outwards.
        package let links: [Link]
        /// The class at the end of the chain.
        package let targetClass: Int
        /// What is read from an object at the end, further links included. Whether the object is present always
        /// matters.
        package fileprivate(set) var properties: PropertySet
    }

    /// What is read from the object itself, links included.
    package private(set) var rootProperties: PropertySet = []
    /// Each chain once, every chain after its own beginning.
    package private(set) var linkPaths: [LinkPath] = []

    package init(paths: [Query.Path]) {
        for path in paths { add(path) }
    }

    private mutating func add(_ path: Query.Path) {
        var links: [Link] = []
        for step in path.steps {
            read(step.property, at: links)
            links.append(Link(classIndex: step.classIndex, property: step.property))
            enter(links, targetClass: step.targetClass)
        }
        read(path.leafProperty, at: links)
        switch (path.leaf, path.type) {
        case (.link(let property), .link(let target)), (.elements(let property), .link(let target)),
            (.presence(let property, let target), _):
            enter(links + [Link(classIndex: path.leafClass, property: property)], targetClass: target)
        default: break
        }
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

    /// What is read from objects of each class, the queried class included.
    ///
    /// - Parameter rootClass: the position of the queried class.
    package func referencedProperties(rootClass: Int) -> [Int: PropertySet] {
        var result = [rootClass: rootProperties]
        for path in linkPaths { result[path.targetClass, default: []].formUnion(path.properties) }
        return result
    }
}
