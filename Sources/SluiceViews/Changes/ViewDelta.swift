package import SluiceModel

/// What an object is in a view. An object that is both a root and linked is a root.
package enum ViewRole: Sendable, Hashable {
    /// A result of the query itself.
    case root
    /// Reached from a root through links that are followed and not excluded.
    case linked
}

/// One object of a view, as of the state that a delta leads to.
package struct ViewObject: Sendable, Hashable {
    package let object: ObjectRef
    /// Every property that the view includes of the object: the union over all ways that lead to it.
    package let included: PropertySet
    /// What a follower of the view lacks: values that changed, and properties that were not included before. All of
    /// `included` for an object that the view did not have in any role.
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
/// in `entered` alone; a root that is still linked when it ceases to be a root is in `left` and in `linkedEntered`.
package struct ViewDelta: Sendable {
    /// Objects that became roots.
    package var entered: [ViewObject] = []
    /// Objects that ceased to be roots.
    package var left: [ViewDeparture] = []
    /// Roots before and after with values that changed or with other properties included than before.
    package var updated: [ViewObject] = []
    /// Objects that became linked without being roots.
    package var linkedEntered: [ViewObject] = []
    /// Linked objects that left the view; `deleted` or `filter`.
    package var linkedLeft: [ViewDeparture] = []
    /// Linked objects before and after with values that changed or with other properties included than before.
    package var linkedUpdated: [ViewObject] = []
    /// The authors whose changes show in this delta, ascending: positions in the engine's list of authors.
    package var authors: [Int] = []

    package init() {}

    package var isEmpty: Bool {
        entered.isEmpty && left.isEmpty && updated.isEmpty && linkedEntered.isEmpty && linkedLeft.isEmpty
            && linkedUpdated.isEmpty
    }
}
