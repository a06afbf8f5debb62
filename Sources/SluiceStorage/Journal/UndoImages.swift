internal import SluiceModel
internal import SluiceWire

/// What the objects were before a group: a version and values for each update and delete, in the order of the group's
/// changes. Together with the group they are the log entries that resuming clients and merging need.
struct UndoImages {
    private var writer = ByteWriter()

    var bytes: [UInt8] { writer.bytes }

    /// Appends what a change was made to; nothing for a create.
    mutating func append(_ change: LogChange) {
        guard change.kind != .create else { return }
        writer.varint(change.oldVersion)
        writer.array(change.oldValues) { $1.encode(into: &$0) }
    }

    /// Combines a group with its undo images.
    ///
    /// - Parameter bytes: the images of all changes of the group.
    static func entries(
        of group: JournalGroup, undoing bytes: [UInt8], file: String
    ) throws(StorageError) -> [LogEntry] {
        try StoredBlob.decode(bytes, file: file, what: "a log entry") { reader throws(WireError) in
            var entries: [LogEntry] = []
            for transaction in group.transactions {
                var entry = LogEntry(transaction, version: group.baseVersion + UInt64(entries.count) + 1, of: group)
                entry.changes.reserveCapacity(transaction.changes.count)
                for change in transaction.changes {
                    var undo = LogChange(change)
                    if change.kind != .create {
                        undo.oldVersion = try reader.varint()
                        undo.oldValues = try reader.array { reader throws(WireError) in try Value(from: &reader) }
                        guard change.kind != .update || undo.oldValues.count == change.written.count else {
                            throw WireError(
                                .malformed, "\(undo.oldValues.count) values of \(change.written.count)",
                                offset: reader.offset)
                        }
                    }
                    entry.changes.append(undo)
                }
                entries.append(entry)
            }
            return entries
        }
    }
}

extension LogEntry {
    /// The entry of a transaction, without its changes.
    init(_ transaction: JournalTransaction, version: UInt64, of group: JournalGroup) {
        self.init(
            version: version, clientID: transaction.clientID, userID: transaction.userID,
            timestamp: transaction.timestamp, acceptedAt: group.acceptedAt, changes: [])
    }
}

extension LogChange {
    /// The change without what was before it.
    init(_ change: JournalChange) {
        self.init(change.object, change.kind, written: change.written, partial: change.partial)
    }
}
