import SluiceModel

@testable import SluiceQuery

/// Describes what a path leads through, from its text alone.
struct PathPlan {
    struct Link {
        let property: Int
        let selection: PathSyntax.Component?
    }

    /// The position of the last component that leads to many values.
    private(set) var lastCollection: Int?
    private(set) var hasEarlierCollection = false
    /// The last property of the path.
    private(set) var lastProperty: Property?
    /// The single links before the last property.
    private(set) var links: [Link] = []
    /// The class of the objects at the end, if the path ends at objects.
    private(set) var endClass: Int

    init(_ components: [PathSyntax.Component], from classIndex: Int, _ schema: Schema) {
        endClass = classIndex
        var pending: Link?
        var lastIndex = -1
        for (index, component) in components.enumerated() {
            switch component.kind {
            case .backlink(let name, _):
                hasEarlierCollection = hasEarlierCollection || lastCollection != nil
                lastCollection = index
                endClass = schema.index(of: name)!
            case .property(let name):
                if let property = lastProperty, lastIndex == index - 1, Self.isSelection(component, property) {
                    continue
                }
                lastIndex = index
                if let pending { links.append(pending) }
                let property = schema[endClass].index(of: name)!
                let declared = schema[endClass].properties[property]
                lastProperty = declared
                let next = index + 1 < components.count ? components[index + 1] : nil
                let isSelected = next.map { Self.isSelection($0, declared) } ?? false
                let isCounted =
                    switch next?.kind {
                    case .operation("values"): false
                    case .operation: true
                    default: false
                    }
                if declared.type.isCollection, !isSelected, !isCounted {
                    hasEarlierCollection = hasEarlierCollection || lastCollection != nil
                    lastCollection = index
                }
                pending = Link(property: property, selection: isSelected ? next : nil)
                if let target = declared.type.targetClass { endClass = schema.index(of: target)! }
            default: break
            }
        }
    }

    static func isSelection(_ component: PathSyntax.Component, _ declared: Property) -> Bool {
        switch component.kind {
        case .index, .key, .named("FIRST"), .named("LAST"): true
        case .property: declared.type.container == .map
        default: false
        }
    }
}
