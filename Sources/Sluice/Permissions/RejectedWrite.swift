public import SluiceModel

/// What becomes of local writes that the server rejects.
public enum RejectedWritePolicy: Sendable, Hashable {
    /// The objects show the server's state again.
    case revert
    /// The values stay visible in this store until the application overwrites or discards them, also after a restart.
    /// They are never sent again. ``Store/rejectedWrites`` lists them.
    case keepLocal
}

/// A local write that the server has rejected, and whose values stay visible in this store.
public struct RejectedWrite: Sendable, Identifiable {
    /// Names the write in this store.
    public let id: UInt64
    /// Why the server rejected it, and of which objects.
    public let rejections: [WriteRejection]
    /// The objects of which something stays visible.
    public let objects: [Identity]
}

extension Store {
    /// The rejected writes whose values stay visible here, oldest first; none unless
    /// ``StoreConfiguration/rejectedWrites`` is ``RejectedWritePolicy/keepLocal``.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public var rejectedWrites: [RejectedWrite] {
        get throws { try core.performAndWait { $0.rejected.writes } }
    }

    /// Shows the server's state again instead of rejected values.
    ///
    /// - Parameter object: the object whose rejected values go; nil for those of all objects.
    /// - Throws: ``StoreError`` when the store is closed or lacks the class.
    public func discardRejectedWrites(of object: Identity? = nil) async throws {
        try await core.perform { try $0.discardRejectedWrites(of: object) }
    }
}
