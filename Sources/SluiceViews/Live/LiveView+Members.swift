package import SluiceModel
package import SluiceQuery

/// The role of an object in a view, and the properties that the view includes of it.
package struct ViewMember: Sendable, Hashable {
    package let role: ViewRole
    package let included: PropertySet

    package init(role: ViewRole, included: PropertySet) {
        self.role = role
        self.included = included
    }
}

extension LiveView {
    /// Whether the view holds its roots: for a query with a limit, or for one object. Otherwise the roots are all objects
    /// that match the query.
    package var holdsRoots: Bool {
        switch roots {
        case .matches, .counted, .expected: false
        case .object, .unshown, .window, .stages, .figures: true
        }
    }

    /// The roots in order, if the view holds them; the object of an `OBJECT(id)` query also while it is not there or may
    /// not be read.
    package var heldRoots: [ObjectRef]? { roots.held(ofClass: query.classIndex) }

    /// The roots in order, if the view holds them.
    ///
    /// - Parameter source: the state that the view has followed.
    /// - Returns: nil unless ``holdsRoots``. The object of an `OBJECT(id)` query is one only while it is there and the
    ///   view's reader may read it.
    package func currentRoots(in source: any ObjectSource) throws -> [ObjectRef]? {
        guard case .object(let object) = roots else { return heldRoots }
        guard let object, try readable(source).isPresent(object) else { return [] }
        return [object]
    }

    /// The role of an object in the current view; nil if the view does not contain it.
    package func member(_ object: ObjectRef, in source: any ObjectSource) throws -> ViewMember? {
        try readableMember(object, in: readable(source))
    }

    /// Does the same with a state as the view's reader sees it.
    func readableMember(_ object: ObjectRef, in source: any ObjectSource) throws -> ViewMember? {
        if try isRoot(object, in: source) { return ViewMember(role: .root, included: includedOfRoot(object)) }
        return closure?.included(object).map { ViewMember(role: .linked, included: $0) }
    }

    /// A member as the view's reader sees it.
    ///
    /// - Parameter source: the state that the view has followed.
    package func shown(_ row: Row, ofClass classIndex: Int, in source: any ObjectSource) throws -> Row {
        try query.context.shown(row, ofClass: classIndex, in: source)
    }

    /// All properties that the view includes of a root.
    package func includedOfRoot(_ object: ObjectRef) -> PropertySet {
        plan.rootProperties(ofClass: object.classIndex).union(closure?.included(object) ?? [])
    }

    /// All properties that the view includes of every root of a class; nil if they depend on the paths that lead to the
    /// root.
    package func includedOfRoots(ofClass classIndex: Int) -> PropertySet? {
        includesAlike(classIndex) ? plan.rootProperties(ofClass: classIndex) : nil
    }

    /// Whether the view includes the same properties of every object of a class, whatever path leads to it.
    package func includesAlike(_ classIndex: Int) -> Bool { !plan.mixedClasses.contains(classIndex) }

    /// Whether that is so of every class, so that an object in the view gains no properties while its class has them.
    package var includesAllAlike: Bool { plan.mixedClasses.isEmpty }

    /// An upper bound of the number of linked objects: one that several paths reach may count several times.
    package var linkedCount: Int { closure?.entries.count ?? 0 }

    /// Calls `body` with every linked object that is not a root, and with the properties that the view includes of it,
    /// in no particular order.
    package func forEachLinked(
        in source: any ObjectSource, _ body: (ObjectRef, PropertySet) throws -> Void
    ) throws {
        guard let closure else { return }
        let source = readable(source)
        var seen: Set<ObjectRef> = []
        for (node, entry) in closure.entries where entry.level > 0 {
            guard plan.linkedStates(ofClass: node.object.classIndex).count == 1 || seen.insert(node.object).inserted,
                try !isRoot(node.object, in: source), let included = closure.included(node.object)
            else { continue }
            try body(node.object, included)
        }
    }

    /// All objects that links lead to, in no particular order; roots may be among them.
    package var linkedObjects: [ObjectRef] {
        guard let closure else { return [] }
        var objects: Set<ObjectRef> = []
        for (node, entry) in closure.entries where entry.level > 0 { objects.insert(node.object) }
        return Array(objects)
    }

    /// Whether an object is a root in the current state of the view.
    ///
    /// - Parameter source: the state as the view's reader sees it.
    func isRoot(_ object: ObjectRef, in source: any ObjectSource) throws -> Bool {
        try roots.contains(object, judge, in: source)
    }
}
