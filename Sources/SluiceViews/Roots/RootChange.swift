import SluiceModel

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
