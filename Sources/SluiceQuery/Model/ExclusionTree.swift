package import SluiceModel

/// The properties that a query excludes, as a tree: the edges are link properties, and each node names the properties
/// left out there.
///
/// A walk from a root object along links carries a position in this tree: `root` for the queried objects,
/// `next(following:ofClass:at:)` for the targets of a link, `free` where nothing is excluded from there on.
package struct ExclusionTree: Hashable, Sendable {
    private struct Node: Hashable, Sendable {
        var excluded: PropertySet = []
        var children: [Child] = []
    }

    private struct Child: Hashable, Sendable {
        let property: Int
        let node: Int
    }

    /// The position of the queried objects.
    package static let root = 0

    /// The root first; the free node last, unless the tree is empty and its root is free.
    private var nodes: [Node] = [Node()]

    /// The tree that excludes nothing.
    package init() {}

    /// - Parameter paths: property positions from the queried class outwards; no path is the beginning of another.
    package init(_ paths: [[Int]]) {
        for path in paths {
            guard let last = path.last else { continue }
            var node = Self.root
            for property in path.dropLast() { node = child(property, of: node) }
            nodes[node].excluded.insert(last)
        }
        if !isEmpty { nodes.append(Node()) }
    }

    private mutating func child(_ property: Int, of node: Int) -> Int {
        if let child = nodes[node].children.first(where: { $0.property == property }) { return child.node }
        nodes[node].children.append(Child(property: property, node: nodes.count))
        nodes.append(Node())
        return nodes.count - 1
    }

    /// Whether nothing is excluded anywhere.
    package var isEmpty: Bool { nodes[0].excluded.isEmpty && nodes[0].children.isEmpty }

    /// The position from which on nothing is excluded; the root in an empty tree.
    package var free: Int { nodes.count - 1 }

    /// Whether objects at `position` come without the property.
    ///
    /// - Parameter property: a position in the class of the objects at `position`.
    package func isExcluded(property: Int, at position: Int) -> Bool { nodes[position].excluded.contains(property) }

    /// The position of the objects that a link property leads to; nil when the property is excluded.
    package func next(following property: Int, at position: Int) -> Int? {
        guard !nodes[position].excluded.contains(property) else { return nil }
        return nodes[position].children.first { $0.property == property }?.node ?? free
    }

    /// The properties that the queried objects come without.
    package var excludedRootProperties: PropertySet { nodes[Self.root].excluded }

    /// The properties that objects at `position` come with.
    ///
    /// - Parameter propertyCount: how many properties their class has.
    package func presentProperties(propertyCount: Int, at position: Int) -> PropertySet {
        var present = PropertySet(all: propertyCount)
        present.subtract(nodes[position].excluded)
        return present
    }
}
