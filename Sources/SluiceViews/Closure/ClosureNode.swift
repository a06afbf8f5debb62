import SluiceModel

/// An object in a state of a closure plan.
struct ClosureNode: Hashable, Sendable {
    let object: ObjectRef
    let state: Int

    init(_ object: ObjectRef, _ state: Int) {
        self.object = object
        self.state = state
    }
}
