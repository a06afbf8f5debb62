package import SluiceModel

/// A line of `sluice write`, checked against the schema.
package enum WriteRequest: Sendable {
    case insert(Record)
    /// Sets the properties that are present in the record, whether or not the object exists.
    case upsert(Record)
    case update(WriteTarget, set: [String: Value], add: [String: Value], edits: [CollectionEdit] = [])
    case delete(WriteTarget)
}

/// The object that a line of `sluice write` refers to.
package enum WriteTarget: Hashable, Sendable {
    case identity(Identity)
    /// An object of a class with a primary key, named by its object id. The server must be asked for its key.
    case id(ObjectID, className: String)
}
