package import SluiceModel
package import SluiceQuery

/// The role of an object in a view. An object that is both a root and linked is a root.
package enum ViewRole: Sendable, Hashable {
    /// A result of the query itself.
    case root
    /// Reached from a root through links that are followed and not excluded.
    case linked
}

/// One object of a view, in the state after a delta.
package struct ViewObject: Sendable, Hashable {
    package let object: ObjectRef
    /// Every property that the view includes of the object: the union over all paths that lead to it.
    package let included: PropertySet
    /// What the client lacks: the properties that changed, and those that the view did not include before. Equals
    /// `included` for an object that the view did not contain before.
    package let changed: PropertySet

    package init(object: ObjectRef, included: PropertySet, changed: PropertySet) {
        self.object = object
        self.included = included
        self.changed = changed
    }
}

/// One object that left its role in a view.
package struct ViewDeparture: Sendable, Hashable {
    package let object: ObjectRef
    package let reason: RemovalReason

    package init(object: ObjectRef, reason: RemovalReason) {
        self.object = object
        self.reason = reason
    }
}

/// How one commit group changes one view.
///
/// Every object has one role: root if the query itself returns it, else linked. A linked object that becomes a root is
/// only in `entered`. A root that stops being a root but is still linked is in `left` and in `linkedEntered`.
package struct ViewDelta: Sendable, Hashable {
    /// Objects that became roots.
    package var entered: [ViewObject] = []
    /// Objects that stopped being roots.
    package var left: [ViewDeparture] = []
    /// Objects that stay roots, and of which a value or the set of included properties changed.
    package var updated: [ViewObject] = []
    /// Objects that became linked and are not roots.
    package var linkedEntered: [ViewObject] = []
    /// Linked objects that left the view; the reason is `deleted`, `filter` or `permission`.
    package var linkedLeft: [ViewDeparture] = []
    /// Objects that stay linked, and of which a value or the set of included properties changed.
    package var linkedUpdated: [ViewObject] = []
    /// How many objects match the query now, if the query asks for its total and that is another number than before.
    package var total: Int?
    /// How what the query computes changes; nil if it does not, or computes nothing.
    package var figures: FigureChange?
    /// The authors whose changes are visible in this delta, ascending: positions in the engine's list of authors.
    package var authors: [Int] = []

    package init() {}

    /// How many objects enter, change or leave.
    package var memberCount: Int {
        entered.count + left.count + updated.count + linkedEntered.count + linkedLeft.count + linkedUpdated.count
    }

    package var isEmpty: Bool {
        entered.isEmpty && left.isEmpty && updated.isEmpty && linkedEntered.isEmpty && linkedLeft.isEmpty
            && linkedUpdated.isEmpty && total == nil && figures == nil
    }
}

extension ViewDelta {
    /// The same change, where the objects that are hidden from the view's reader have left for that reason.
    func hiding(_ hidden: Set<ObjectRef>) -> ViewDelta {
        guard !hidden.isEmpty else { return self }
        func explained(_ departures: [ViewDeparture]) -> [ViewDeparture] {
            departures.map { hidden.contains($0.object) ? ViewDeparture(object: $0.object, reason: .permission) : $0 }
        }
        var delta = self
        delta.left = explained(left)
        delta.linkedLeft = explained(linkedLeft)
        return delta
    }
}
