public import SluiceModel

/// A local write that the server refused. By the time it is reported the objects show the server's state again.
public struct WriteRejection: Sendable {
    /// The object concerned; nil when the transaction as a whole was refused.
    public let object: Identity?
    /// Why, in words.
    public let reason: SyncError
    /// The values that were refused, by property name.
    public let refusedValues: [String: Value]

    package init(object: Identity?, reason: SyncError, refusedValues: [String: Value]) {
        self.object = object
        self.reason = reason
        self.refusedValues = refusedValues
    }
}
