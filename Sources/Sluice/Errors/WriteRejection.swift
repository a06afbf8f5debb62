public import SluiceModel

/// A local write that the server rejected. By the time that it is reported, the objects show the server's state again,
/// unless the store keeps rejected values (``StoreConfiguration/rejectedWrites``).
public struct WriteRejection: Sendable {
    /// The object concerned; nil if the transaction was rejected as a whole.
    public let object: Identity?
    /// Why the server rejected the write.
    public let reason: SyncError
    /// The values that were rejected, by property name.
    public let rejectedValues: [String: Value]

    /// The number of the stored record of it; nil if there is none.
    package private(set) var number: UInt64?

    func numbered(_ number: UInt64) -> WriteRejection {
        var numbered = self
        numbered.number = number
        return numbered
    }

    package init(object: Identity?, reason: SyncError, rejectedValues: [String: Value]) {
        self.object = object
        self.reason = reason
        self.rejectedValues = rejectedValues
    }
}

extension WriteRejection: CustomStringConvertible {
    /// One line: the object and the reason, without the values.
    public var description: String {
        "rejected write\(object.map { " of \($0)" } ?? ""): \(reason)"
    }
}
