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
        writer.array(Array(zip(change.oldProperties, change.oldValues))) { writer, old in
            switch change.oldLists[old.0] {
            case nil: old.1.encode(into: &writer)
            case .identity(let identity):
                writer.byte(Self.identifiedList)
                old.1.encode(into: &writer)
                identity.encode(into: &writer)
            case .undo(let edits):
                writer.byte(Self.undoneEdits)
                edits.encode(into: &writer)
            }
        }
    }

    /// What stands in the place of a value's tag before a list with the identity of its elements …
    private static let identifiedList: UInt8 = 0x40
    /// … and before edits that lead back to a list.
    private static let undoneEdits: UInt8 = 0x41

    private static func readValue(
        of property: Int, into change: inout LogChange, from reader: inout ByteReader
    ) throws(WireError) {
        switch try reader.peek() {
        case identifiedList:
            _ = try reader.byte()
            change.oldValues.append(try Value(from: &reader))
            change.oldLists[property] = .identity(try ListIdentity(from: &reader))
        case undoneEdits:
            _ = try reader.byte()
            change.oldValues.append(.null)
            change.oldLists[property] = .undo(try ListEdits(from: &reader))
        default: change.oldValues.append(try Value(from: &reader))
        }
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
                        let count = try reader.count()
                        guard change.kind != .update || count == change.written.count else {
                            throw WireError(
                                .malformed, "\(count) values of \(change.written.count)", offset: reader.offset)
                        }
                        undo.oldValues.reserveCapacity(count)
                        for property in change.kind == .delete ? Array(0..<count) : Array(change.written) {
                            try readValue(of: property, into: &undo, from: &reader)
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
            version: version, clientID: transaction.clientID, sequence: transaction.sequence,
            userID: transaction.userID,
            timestamp: transaction.timestamp, acceptedAt: group.acceptedAt, changes: [])
    }
}

extension LogChange {
    /// The change without what was before it.
    init(_ change: JournalChange) {
        self.init(change.object, change.note)
    }
}
