package import SluiceModel
package import SluiceQuery

/// What an object is in a view, and what the view includes of it.
package struct ViewMember: Sendable, Hashable {
    package let role: ViewRole
    package let included: PropertySet

    package init(role: ViewRole, included: PropertySet) {
        self.role = role
        self.included = included
    }
}

extension LiveView {
    /// The roots in order, if the view holds them: of a query with a limit, or of one object. Nil otherwise; then the
    /// roots are what matches the query.
    package var currentRoots: [ObjectRef]? {
        if query.object != nil { return resolved.map { [$0] } ?? [] }
        return chain?.members ?? window.map { Array($0.members) }
    }

    /// What an object is in the view now; nil if the view does not have it.
    package func member(_ object: ObjectRef, in source: any ObjectSource) throws -> ViewMember? {
        if try isRoot(object, in: source) { return ViewMember(role: .root, included: includedOfRoot(object)) }
        return closure?.included(object).map { ViewMember(role: .linked, included: $0) }
    }

    /// Everything that the view includes of an object that is a root.
    package func includedOfRoot(_ object: ObjectRef) -> PropertySet {
        plan.rootProperties(ofClass: object.classIndex).union(closure?.included(object) ?? [])
    }

    /// Whether the view includes the same of every object of a class, whatever leads to it.
    package func includesAlike(_ classIndex: Int) -> Bool { !plan.mixedClasses.contains(classIndex) }

    /// How many linked objects there are, at most: one that is reached in several ways may count several times.
    package var linkedCount: Int { closure?.entries.count ?? 0 }

    /// Calls `body` with every linked object that is not a root, and with what the view includes of it; in no
    /// particular order.
    package func forEachLinked(
        in source: any ObjectSource, _ body: (ObjectRef, PropertySet) throws -> Void
    ) throws {
        guard let closure else { return }
        var seen: Set<ObjectRef> = []
        for (node, entry) in closure.entries where entry.level > 0 {
            guard (plan.linkedStates[node.object.classIndex]?.count ?? 0) == 1 || seen.insert(node.object).inserted,
                try !isRoot(node.object, in: source), let included = closure.included(node.object)
            else { continue }
            try body(node.object, included)
        }
    }

    /// Every object that links lead to, in no particular order; roots may be among them.
    package var linkedObjects: [ObjectRef] {
        guard let closure else { return [] }
        var objects: Set<ObjectRef> = []
        for (node, entry) in closure.entries where entry.level > 0 { objects.insert(node.object) }
        return Array(objects)
    }

    /// Whether an object is a root in the state that the view stands at.
    func isRoot(_ object: ObjectRef, in source: any ObjectSource) throws -> Bool {
        if query.object != nil { return try object == resolved && source.isPresent(object) }
        guard object.classIndex == query.classIndex else { return false }
        if let chain { return chain.contains(object) }
        if let window { return window.contains(object) }
        guard let row = try source.row(object) else { return false }
        return try evaluator.matches(row, in: source)
    }
}
