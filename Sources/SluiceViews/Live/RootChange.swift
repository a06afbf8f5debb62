import SluiceModel

/// What a commit group means for one object as a root.
struct RootChange {
    let object: ObjectRef
    let wasRoot: Bool
    let isRoot: Bool
    /// Why it left, if it did.
    let reason: RemovalReason
    /// Positions of changes of other objects that made this one worth a look.
    var causes: [Int] = []
}
