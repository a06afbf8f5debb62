/// Whether objects of a class sync, as a type, so that the compiler can tell links from one side to the other. The two
/// are ``SyncedClass`` and ``LocalClass``.
public protocol ClassSyncing {
    /// Whether the class does not sync.
    static var isLocal: Bool { get }
}

/// The class of a model whose objects sync, as they do unless the model says otherwise.
public enum SyncedClass: ClassSyncing {
    public static var isLocal: Bool { false }
}

/// The class of a model whose objects stay in the store: no server learns of the class or of them.
public enum LocalClass: ClassSyncing {
    public static var isLocal: Bool { true }
}

/// Whether objects of a class sync, as `@Model` is told: `@Model(.local)`.
public enum ModelSyncing: Sendable, Hashable {
    /// What is written is uploaded, and what is observed comes from the server.
    case synced
    /// The objects stay in the store that has them.
    case local
}

extension ModelBuilder {
    /// Compiles where a link does not lead from a class that syncs to one that does not, or back. `@Model` writes it for
    /// each link.
    @inlinable
    public func checkSide<Value: LinkPath>(_ keyPath: any KeyPath<Root, Value> & Sendable)
    where Value.LinkTarget.Syncing == Root.Syncing {}

    /// Tells, at the property's line, that its link leads to the other side.
    @available(
        *, unavailable,
        message:
            "the link leads from a class that syncs to one that is local, or back; declare both models alike, or keep the other object's key in a property that is no link"
    )
    public func checkSide<Value: LinkPath>(_ keyPath: any KeyPath<Root, Value> & Sendable, unequal: Void = ()) {}
}
