public import SluiceModel

/// A local write that the server rejected. By the time it is reported the objects show the server's state again.
public struct WriteRejection: Sendable {
    /// The object concerned; nil when the transaction as a whole was rejected.
    public let object: Identity?
    /// Why, in words.
    public let reason: SyncError
    /// The values that were rejected, by property name.
    public let rejectedValues: [String: Value]

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
