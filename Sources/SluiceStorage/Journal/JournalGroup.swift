package import SluiceModel

/// One group of a database's history as redo data: what was done, after merging, complete enough to do it again.
///
/// A group takes one position of the journal. Its transactions take the versions after the group's base; everything
/// else in it (rejections, epochs, schema changes, trims) takes no version.
package struct JournalGroup: Hashable, Sendable {
    /// The version before the group.
    package var baseVersion: UInt64
    /// When the server accepted the group; never earlier than the group before.
    package var acceptedAt: Timestamp
    /// The server process that accepted the group; nil if it has no name.
    package var workerID: String?
    /// What was done, in order.
    package var steps: [JournalStep]

    package init(baseVersion: UInt64, acceptedAt: Timestamp, workerID: String? = nil, steps: [JournalStep]) {
        self.baseVersion = baseVersion
        self.acceptedAt = acceptedAt
        self.workerID = workerID
        self.steps = steps
    }

    /// The transactions, in the order of their versions.
    package var transactions: some Sequence<JournalTransaction> {
        steps.lazy.compactMap { if case .transaction(let transaction) = $0 { transaction } else { nil } }
    }
}

/// One part of a group.
package enum JournalStep: Hashable, Sendable {
    /// An accepted transaction, which makes the next version.
    case transaction(JournalTransaction)
    /// A transaction that was rejected, and what its client is told, in the form in which it travels.
    case rejection(client: UInt64, sequence: UInt64, notice: [UInt8])
    /// A client has confirmed its rejections up to a sequence, and they are dropped.
    case confirmation(client: UInt64, sequence: UInt64)
    /// A client's uploads count as accepted up to a sequence, because another identity of it uploaded them.
    case progress(client: UInt64, sequence: UInt64)
    /// A client that opens a session. The first visit makes its record.
    case visit(ClientVisit)
    /// A client has stored the nonce that it was offered, which it shows at its next visit. Nothing happens if it was
    /// offered another one since.
    case nonce(client: UInt64, ObjectID)
    /// Clients that are connected at a time, and up to date.
    case seen([UInt64], at: Timestamp)
    /// Clients that are forgotten, with their sequences and rejections.
    case forgetting([UInt64])
    /// A new epoch, by its random number.
    case epoch(UInt64)
    /// A schema that is merged into the database's.
    case schema(Schema)
    /// A class, or one of its properties, that is removed.
    case removal(classIndex: Int, property: Int?)
    /// Other rules, as a file; they hold from here on. Where they came from is not known of those of before.
    case rules([UInt8], from: RulesOrigin? = nil)
    /// The log up to a version is dropped.
    case trim(version: UInt64)
    /// A random number. Engines that write the same at the same time make two groups with it and not the same one.
    case mark(UInt64)
    /// A record of a job as it is from here on.
    case job(JobRecord)
    /// A record of a job that is removed; nothing happens if there is none.
    case jobRemoval(JobRecord.Key)
    /// A position at which the servers of a cluster compare their replicas (``StateDigest``). It changes nothing.
    case comparison
}

/// A client that opens a session, with what is kept of it from then on.
package struct ClientVisit: Hashable, Sendable {
    package var clientID: UInt64
    package var userID: String?
    /// The nonce that the client has shown, or that a new client is known by.
    package var nonce: ObjectID
    /// The nonce that the client is to show the next time.
    package var offer: ObjectID
    /// The last version that the client has; 0 for a new one.
    package var version: UInt64
    package var time: Timestamp

    package init(
        clientID: UInt64, userID: String?, nonce: ObjectID, offer: ObjectID, version: UInt64, time: Timestamp
    ) {
        self.offer = offer
        self.clientID = clientID
        self.userID = userID
        self.nonce = nonce
        self.version = version
        self.time = time
    }
}

/// An accepted transaction as redo data.
package struct JournalTransaction: Sendable {
    package var clientID: UInt64
    /// The client's number of the transaction.
    package var sequence: UInt64
    package var userID: String?
    /// When the client made the transaction, by its hybrid clock, as far as the server believes it.
    package var timestamp: HybridTimestamp
    /// The kinds of the operations as they were uploaded, for change events.
    package var kinds: Set<OperationKind>
    private var content: Content

    private enum Content: Sendable {
        case changes([JournalChange])
        case creations(Creations)
    }

    package init(
        clientID: UInt64, sequence: UInt64, userID: String?, timestamp: HybridTimestamp,
        kinds: Set<OperationKind> = [], changes: [JournalChange]
    ) {
        self.clientID = clientID
        self.sequence = sequence
        self.userID = userID
        self.timestamp = timestamp
        self.kinds = kinds
        content = .changes(changes)
    }

    /// What the transaction did to each object, in order; an object occurs once. O(1), or O(values) where
    /// ``creations`` are all there is.
    package var changes: [JournalChange] {
        get {
            switch content {
            case .changes(let changes): changes
            case .creations(let creations): JournalChange.changes(of: creations)
            }
        }
        set { content = .changes(newValue) }
    }

    /// What the transaction did, where that is no more than a run of creations; else nil.
    package var creations: Creations? {
        get { if case .creations(let creations) = content { creations } else { nil } }
        set { if let newValue { content = .creations(newValue) } }
    }
}

extension JournalTransaction: Hashable {
    package static func == (left: JournalTransaction, right: JournalTransaction) -> Bool {
        left.clientID == right.clientID && left.sequence == right.sequence && left.userID == right.userID
            && left.timestamp == right.timestamp && left.kinds == right.kinds && left.changes == right.changes
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(clientID)
        hasher.combine(sequence)
        hasher.combine(timestamp)
    }
}

/// What one transaction did to one object.
package struct JournalChange: Hashable, Sendable {
    package var object: ObjectRef
    package var kind: WriteKind
    /// The properties that were written; none for a delete. The others of a new object have their defaults.
    package var written: PropertySet
    /// The values of `written` after the transaction, in ascending order of position. Null for a list that is edited:
    /// ``edits(ofList:)``.
    package var values: [Value]
    /// Which of `written` were changed in part and not assigned, and how.
    package var partial: [FieldOperation]
    /// Which of `written` got a default that nobody has chosen; `partial` may have changed it.
    package var defaulted: PropertySet
    /// Whether an update was a creation that met the object.
    package var creates: Bool
    /// Whether the transaction deletes what was created before it, whatever becomes of the object: a deletion of what was
    /// not there, or one beside a creation or an update.
    package var deletes: Bool
    /// What merging remembers of an object with several creations.
    package var lineage: WriteLineage?

    package init(
        _ object: ObjectRef, _ kind: WriteKind, written: PropertySet = [], values: [Value] = [],
        partial: [FieldOperation] = [], defaulted: PropertySet = [], creates: Bool = false, deletes: Bool = false,
        lineage: WriteLineage? = nil
    ) {
        self.object = object
        self.kind = kind
        self.written = written
        self.values = values
        self.partial = partial
        self.defaulted = defaulted
        self.creates = creates
        self.deletes = deletes
        self.lineage = lineage
    }

    /// - Parameter values: those of what the note says is written.
    package init(_ object: ObjectRef, _ note: WriteNote, values: [Value] = []) {
        self.init(
            object, note.kind, written: note.written, values: values, partial: note.partial,
            defaulted: note.defaulted, creates: note.creates, deletes: note.deletes, lineage: note.lineage)
    }

    /// The change without object and values.
    package var note: WriteNote {
        WriteNote(
            kind, written: written, defaulted: defaulted, partial: partial, creates: creates, deletes: deletes,
            lineage: lineage)
    }

    /// What was done to the elements of a list, in a new object to those of its default; nil if the property has its
    /// value.
    package func edits(ofList property: Int) -> ListEdits? {
        for field in partial where field.property == property {
            if case .editList(let edits) = field.change { return edits }
        }
        return nil
    }

    /// The object that a creation makes.
    package func newRow(of declared: ClassSchema, version: UInt64) -> Row {
        var row = Row(key: object.key, version: version, values: declared.defaultValues(for: object.key))
        for (property, value) in zip(written, values) {
            if let edits = edits(ofList: property) {
                row.edit(property) { _ in edits }
            } else {
                row.values[property] = value
            }
        }
        return row
    }

    /// Creations one by one. O(values).
    fileprivate static func changes(of creations: Creations) -> [JournalChange] {
        let written = PropertySet(creations.properties)
        let columns = creations.properties.indices
        let values = creations.values
        return (0..<creations.count).map { position in
            JournalChange(
                creations.object(at: position), .create, written: written,
                values: columns.map { values[$0][position] },
                defaulted: PropertySet(
                    columns.lazy.filter { creations.isDefault(at: position, ofColumn: $0) }
                        .map { creations.properties[$0] }))
        }
    }
}
