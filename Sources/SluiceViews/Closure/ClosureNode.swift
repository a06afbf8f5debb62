import SluiceModel

/// A node of the link closure: an object together with a state of the closure plan.
struct ClosureNode: Hashable, Sendable {
    let object: ObjectRef
    let state: Int

    static func == (left: ClosureNode, right: ClosureNode) -> Bool {
        left.state == right.state && left.object == right.object
    }

    init(_ object: ObjectRef, _ state: Int) {
        self.object = object
        self.state = state
    }

    /// Few objects have several nodes, so the state is left out.
    func hash(into hasher: inout Hasher) { hasher.combine(object) }
}
