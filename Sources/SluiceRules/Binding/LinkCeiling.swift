package import SluiceModel
package import SluiceQuery

/// The links that make what they lead to readable, by the class that has them.
struct TransitiveLinks: Sendable {
    /// A property whose links go to a transitive class.
    struct Property: Sendable {
        let position: Int
        let target: Int
    }

    let properties: [Int: [Property]]

    init(_ document: RulesDocument, schema: Schema) {
        var properties: [Int: [Property]] = [:]
        for (name, rules) in document.classes where rules.isTransitive {
            guard let target = schema.index(of: name) else { continue }
            for (source, property) in schema.links(to: name) where source != name {
                guard let classIndex = schema.index(of: source),
                    let position = schema[classIndex].index(of: property.name)
                else { continue }
                properties[classIndex, default: []].append(Property(position: position, target: target))
            }
        }
        self.properties = properties
    }
}

extension Binding {
    /// The first object that a transaction lets link to what its author may not read, where the link would make it
    /// readable. What the transaction creates may be linked.
    ///
    /// What is not there cannot be linked either, so that nobody learns which keys are taken, or waits for an object to
    /// come.
    ///
    /// - Parameter before: the objects as they were before the transaction.
    /// - Complexity: linear in the links of the changed objects.
    package func refusedLink(_ changes: [ChangedObject], before: any ObjectSource) throws -> ObjectRef? {
        guard !transitive.properties.isEmpty else { return nil }
        let created = Set(changes.lazy.filter { $0.old == nil && $0.new != nil }.map(\.object))
        for change in changes {
            guard let new = change.new else { continue }
            for property in transitive.properties[change.object.classIndex] ?? [] {
                let read = condition(of: .read, onClass: property.target)
                if read?.isAlways ?? false { continue }
                var known: Set<ObjectKey> = []
                change.old?.values[property.position].forEachLink { known.insert($0) }
                let isRefused = try new.values[property.position].anyLink { key in
                    let target = ObjectRef(property.target, key)
                    if known.contains(key) || created.contains(target) { return false }
                    guard let row = try before.row(target), let read else { return true }
                    return try !read.allows(row, in: before)
                }
                if isRefused { return change.object }
            }
        }
        return nil
    }
}
