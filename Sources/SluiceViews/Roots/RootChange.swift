import SluiceModel
import SluiceQuery

/// What a commit group changes about the roots of a view.
struct RootChanges {
    /// Every object that became a root or stopped being one, and every changed object that was or is a root.
    var all: [RootChange] = []
    /// How many objects match the query after the group, if that is another number than before and the view counts them.
    var total: Int?
    /// The positions of the changes because of which the number, or what is computed, is another one.
    var totalCauses: [Int] = []

    /// How what the view computes changes; nil if it does not.
    var figures: FigureChange?

    var isEmpty: Bool { all.isEmpty && total == nil && figures == nil }
}

/// What a commit group changes about one object as a root.
struct RootChange {
    let object: ObjectRef
    let wasRoot: Bool
    let isRoot: Bool
    /// Why the object stopped being a root, if it did.
    let reason: RemovalReason
    /// Positions of changes of other objects because of which this object was evaluated again.
    var causes: [Int] = []
}
