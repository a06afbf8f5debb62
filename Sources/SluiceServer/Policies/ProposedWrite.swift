public import SluiceModel

/// What a client's transaction does to one object, for a validator to judge.
///
/// ``old`` is the state before the transaction and ``new`` what the rules of merging make of both, so a validator need
/// not know what the client has seen.
public struct ProposedWrite: Sendable {
    /// The database's name.
    public let database: String
    /// The class and key of the object.
    public let identity: Identity
    /// The user who writes; nil for an anonymous one.
    public let userID: String?
    /// The object before the transaction; nil if the transaction creates it.
    public let old: Record?
    /// The object after it; nil if the transaction deletes it.
    public let new: Record?
    package let schema: Schema

    package init(
        database: String, identity: Identity, userID: String?, old: Record?, new: Record?, schema: Schema
    ) {
        self.schema = schema
        self.database = database
        self.identity = identity
        self.userID = userID
        self.old = old
        self.new = new
    }

    /// The properties whose values the transaction changes, by name; all of them if it creates or deletes the object.
    public var changedProperties: Set<String> {
        guard let properties = (new ?? old)?.classSchema.properties.filter({ !$0.isRetired }) else { return [] }
        guard let old, let new else { return Set(properties.map(\.name)) }
        return Set(properties.map(\.name).filter { old[$0] != new[$0] })
    }
}

/// What a validator says about a write.
public enum WriteVerdict: Sendable, Hashable {
    /// The write is as it should be.
    case accept
    /// The whole transaction is refused. The author's store shows the server's state again, and reports the reason.
    case refuse(String)
    /// The write counts, with these values by property name. They reach the author like somebody else's change. Without
    /// effect for a deletion.
    case amend([String: Value])
}
