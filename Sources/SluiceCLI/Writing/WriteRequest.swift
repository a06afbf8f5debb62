internal import SluiceModel

/// One line of `sluice write`, checked against the schema.
enum WriteRequest: Sendable {
    case insert(Record)
    /// The record's properties that are present are set, whether or not the object exists.
    case upsert(Record)
    case update(WriteTarget, set: [String: Value], add: [String: Value])
    case delete(WriteTarget)
}

/// The object that a line of `sluice write` names.
enum WriteTarget: Hashable, Sendable {
    case identity(Identity)
    /// An object of a class with a primary key, by its id: its key must be asked for.
    case id(ObjectID, className: String)
}
