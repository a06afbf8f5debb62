package import SluiceModel

/// One accepted transaction in the server's log: who made it, when, and how to undo it.
package struct LogEntry: Hashable, Sendable {
    /// The version that the transaction made.
    package var version: UInt64
    package var clientID: UInt64
    /// The client's number of the transaction; 0 where that is not known, or has none.
    package var sequence: UInt64
    package var userID: String?
    /// When the client made the transaction, by its hybrid clock.
    package var timestamp: HybridTimestamp
    /// When the server accepted it.
    package var acceptedAt: Timestamp
    /// What the transaction did to each object, in order; an object occurs once.
    package var changes: [LogChange]

    package init(
        version: UInt64, clientID: UInt64, sequence: UInt64 = 0, userID: String?, timestamp: HybridTimestamp,
        acceptedAt: Timestamp, changes: [LogChange]
    ) {
        self.sequence = sequence
        self.version = version
        self.clientID = clientID
        self.userID = userID
        self.timestamp = timestamp
        self.acceptedAt = acceptedAt
        self.changes = changes
    }
}

/// What one transaction did to one object, with the data that restores the object as it was before.
package struct LogChange: Hashable, Sendable {
    package var object: ObjectRef
    /// What was done, without the values.
    package var note: WriteNote
    /// The version of the object before the change; 0 for a create, and for a delete of what was not there.
    package var oldVersion: UInt64
    /// The values before the change: those of `written` for an update, in ascending order of position; the whole row
    /// for a delete; none for a create.
    package var oldValues: [Value]
    /// What the old values do not say of lists, by property.
    package var oldLists: [Int: OldList] = [:]

    package enum OldList: Hashable, Sendable {
        /// The identity of the elements of an old value.
        case identity(ListIdentity)
        /// What leads back to the old value, which is not kept itself.
        case undo(ListEdits)
    }

    package var kind: WriteKind { note.kind }
    /// The properties that were written: named by a create, changed by an update, none for a delete.
    package var written: PropertySet { note.written }

    /// The properties whose old values there are, in their order.
    var oldProperties: [Int] { kind == .delete ? Array(oldValues.indices) : Array(written) }

    package init(_ object: ObjectRef, _ note: WriteNote, oldVersion: UInt64 = 0, oldValues: [Value] = []) {
        self.object = object
        self.note = note
        self.oldVersion = oldVersion
        self.oldValues = oldValues
    }
}
