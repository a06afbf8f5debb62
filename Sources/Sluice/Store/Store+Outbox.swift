public import SluiceModel
internal import SluiceStorage

/// What was written here and the server has not confirmed. Each call reads one commit, and does not wait for a write or
/// for the server; what it says may be stale when it returns.
extension Store {
    /// The ids of the objects that show writes of this store which the server has not confirmed: they wait to be
    /// uploaded or for an acknowledgement, or were refused and stay visible (``rejectedWrites``). An object that was
    /// deleted here is among them until the server has deleted it.
    ///
    /// O(operations in the outbox); ``isPending(_:)-(Element)`` is quicker for one object.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public func pendingObjectIDs() throws -> Set<ObjectID> {
        try core.read { reader in
            Set(
                try reader.pendingObjects.map { object in
                    if case .id(let id) = object.key { return id }
                    return Identity(className: reader.schema[object.classIndex].name, key: object.key).objectID
                })
        }
    }

    /// Whether the object shows writes of this store that the server has not confirmed, as ``pendingObjectIDs()`` says.
    /// O(log n) in the operations of the outbox.
    ///
    /// - Parameter object: names the object; its property values are not used.
    /// - Throws: ``StoreError`` when the store is closed or lacks the class.
    public func isPending<Element: Model>(_ object: Element) throws -> Bool { try isPending(object.identity) }

    /// Whether the object with a class and key shows writes of this store that the server has not confirmed, as
    /// ``pendingObjectIDs()`` says. O(log n) in the operations of the outbox.
    ///
    /// - Throws: ``StoreError`` when the store is closed or lacks the class.
    public func isPending(_ object: Identity) throws -> Bool {
        let reference = ObjectRef(try core.classIndex(of: object.className), object.key)
        return try core.read { try $0.hasPending(reference) }
    }

    /// The number of transactions that the server has not acknowledged. O(1). An acknowledgement may take a twentieth of
    /// a second to show here; ``uploaded(timeout:)`` waits for all.
    ///
    /// - Parameter limit: the highest number wanted; nil for the whole number.
    /// - Throws: ``StoreError`` when the store is closed.
    public func outgoingCount(limit: Int? = nil) throws -> Int {
        min(try core.read { $0.outboxCount }, limit ?? .max)
    }
}
