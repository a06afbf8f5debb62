public import SluiceModel

/// What becomes of local writes that the server refuses.
public enum RefusedWritePolicy: Sendable, Hashable {
    /// The objects show the server's state again.
    case revert
    /// The values stay visible in this store until the application overwrites or discards them, also after a restart.
    /// They are never sent again. ``Store/refusedWrites`` lists them.
    case keepLocal
}

/// A local write that the server has refused, and whose values stay visible in this store.
public struct RefusedWrite: Sendable, Identifiable {
    /// Names the write in this store.
    public let id: UInt64
    /// Why the server refused it, and of which objects.
    public let rejections: [WriteRejection]
    /// The objects of which something stays visible.
    public let objects: [Identity]
}

extension Store {
    /// The refused writes whose values stay visible here, oldest first; none unless
    /// ``StoreConfiguration/refusedWrites`` is ``RefusedWritePolicy/keepLocal``.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public var refusedWrites: [RefusedWrite] {
        get throws { try core.performAndWait { $0.refusedWrites } }
    }

    /// Shows the server's state again instead of refused values.
    ///
    /// - Parameter object: the object whose refused values go; nil for those of all objects.
    /// - Throws: ``StoreError`` when the store is closed or lacks the class.
    public func discardRefusedWrites(of object: Identity? = nil) async throws {
        try await core.perform { try $0.discardRefusedWrites(of: object) }
    }
}
