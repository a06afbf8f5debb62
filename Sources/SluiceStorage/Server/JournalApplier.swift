internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// Makes the state after a group from the state before it and the redo data, and with it the undo images and the
/// difference of the two states.
///
/// Each row is read once for the group. Changed values are also written once, at the end: a thousand transactions on
/// one object write its row once. A row that is created or deleted is written at once, since other rows may link to it.
struct JournalApplier {
    private struct Change {
        var object: ObjectRef
        /// The object before the group.
        var old: Row?
        /// The object after the transactions so far.
        var new: Row?
        /// The transactions that changed the object, by their position in the group.
        var authors: [Int]
        /// The properties of `new` that are not stored yet; nil if all are.
        var unwritten: PropertySet?
        /// The lists that transactions edit one after the other; `new` gets them when somebody looks at it.
        var lists: [Int: ElementList] = [:]
        /// How lists come from what is stored, as long as that is all that is done to them.
        var edits: [Int: ListEdits] = [:]

        /// A list to edit; nil if there is none.
        mutating func takeList(_ property: Int) -> ElementList? {
            lists.removeValue(forKey: property) ?? new?.list(of: property)
        }

        /// Brings `new` up to date.
        mutating func closeLists() {
            guard !lists.isEmpty else { return }
            for (property, list) in lists { new?.set(list, of: property) }
            lists = [:]
        }
    }

    let storage: SQLiteServerStorage
    /// What the maker of the group has found out; nil if nobody has.
    private let known: KnownObjects?
    /// Whether the group comes from elsewhere, so that it may not fit the schema.
    private let isForeign: Bool
    private var changes: [Change] = []
    /// Where the objects are in `changes`; by their numbers where they have some, else by name.
    private var placesByNumber: [Int]
    private var placesByName: [ObjectRef: Int] = [:]
    private var progress: [UInt64: UInt64] = [:]
    /// The clients that were told of rejections.
    private var rejected: Set<UInt64> = []
    private(set) var transactionCount = 0
    /// What was created by column. Nothing else in the group concerns these objects.
    var runs: [CreatedRun] = []
    /// The present transaction as an author, which all that it is the first to change share.
    private var author: [Int] = []
    private var changeCount = 0
    private var createdCount = 0
    private(set) var undo = UndoImages()

    /// - Parameter known: what the maker of the group has found out about its objects; nil if nobody has.
    init(_ storage: SQLiteServerStorage, isForeign: Bool, known: KnownObjects? = nil) {
        self.storage = storage
        self.isForeign = isForeign
        self.known = known
        placesByNumber = known.map { [Int](repeating: -1, count: $0.before.count) } ?? []
        if let known { changes.reserveCapacity(known.before.count) }
    }

    /// Carries out a transaction.
    ///
    /// - Parameter body: called with each change and what there was before it, in order; nil if nobody asks.
    mutating func carryOut(
        _ transaction: JournalTransaction, version: UInt64, _ body: ((LogChange) -> Void)?
    ) throws {
        author = [transactionCount]
        if !isForeign, let creations = transaction.creations {
            try create(creations, version: version)
            if let body { for change in transaction.changes { body(LogChange(change)) } }
        } else {
            for change in transaction.changes {
                let undone = try carryOut(change, version: version)
                undo.append(undone)
                body?(undone)
            }
        }
        noteProgress(of: transaction.clientID, transaction.sequence)
        transactionCount += 1
    }

    mutating func noteProgress(of client: UInt64, _ sequence: UInt64) {
        // The server's own process, which has no record.
        if client != 0 { progress[client] = sequence }
    }

    mutating func noteRejection(of client: UInt64, _ sequence: UInt64) {
        noteProgress(of: client, sequence)
        rejected.insert(client)
    }

    private mutating func carryOut(_ change: JournalChange, version: UInt64) throws -> LogChange {
        let object = change.object
        if isForeign { try check(change) }
        defer { changeCount += 1 }
        var undone = LogChange(change)
        switch change.kind {
        case .create:
            let place = place(of: object) ?? add(object, nil)
            noteAuthor(at: place)
            guard changes[place].new == nil else { throw mismatch(object, "creates", "exists") }
            let row = makeRow(change, version: version)
            do { try storage.insert(row, ofClass: object.classIndex) } catch let error as StorageError
                where error.code == .constraint
            {
                throw mismatch(object, "creates", "exists")
            }
            if change.deletes { try storage.noteRebirth(of: object) }
            changes[place].new = row
            changes[place].unwritten = nil
            changes[place].edits = [:]
        case .update:
            let place = try placeOfKnown(object)
            guard let oldVersion = changes[place].new?.version else {
                throw mismatch(object, "changes", "is missing")
            }
            undone.oldVersion = oldVersion
            var changed = PropertySet()
            undone.oldValues.reserveCapacity(change.values.count)
            for (property, value) in zip(change.written, change.values) {
                if let edits = change.edits(ofList: property) {
                    guard !edits.isEmpty else {
                        keep(property, at: place, &undone)
                        continue
                    }
                    undone.oldValues.append(.null)
                    undone.oldLists[property] = .undo(try edit(property, at: place, edits, object))
                    changed.insert(property)
                } else {
                    if set(property, at: place, to: value, &undone) { changed.insert(property) }
                }
            }
            if change.creates || change.deletes { try storage.noteRebirth(of: object) }
            changes[place].new?.version = version
            changes[place].unwritten = (changes[place].unwritten ?? []).union(changed)
        case .delete where change.deletes:
            let place = try placeOfKnown(object)
            guard changes[place].new == nil else { throw mismatch(object, "deletes in vain", "exists") }
            try storage.noteDeletion(of: object, version: version)
        case .delete:
            let place = try placeOfKnown(object)
            changes[place].closeLists()
            guard let old = changes[place].new else { throw mismatch(object, "deletes", "is missing") }
            undone.oldVersion = old.version
            undone.oldValues = old.values
            undone.oldLists = old.identities.mapValues { .identity($0) }
            try storage.delete(object, version: version)
            changes[place].new = nil
            changes[place].unwritten = nil
        }
        return undone
    }

    /// Sets a property.
    ///
    /// - Returns: whether it is another one since.
    private mutating func set(_ property: Int, at place: Int, to value: Value, _ undone: inout LogChange) -> Bool {
        changes[place].closeLists()
        guard let old = changes[place].new else { return false }
        undone.oldValues.append(old.values[property])
        let identity = old.identity(of: property)
        if let identity { undone.oldLists[property] = .identity(identity) }
        guard identity != nil || !old.values[property].isIdentical(to: value) else { return false }
        changes[place].edits[property] = nil
        changes[place].new?.set(value, of: property)
        return true
    }

    /// Leaves a list as it is, also what its elements are.
    private mutating func keep(_ property: Int, at place: Int, _ undone: inout LogChange) {
        changes[place].closeLists()
        undone.oldValues.append(changes[place].new?.values[property] ?? .null)
        if let identity = changes[place].new?.identity(of: property) { undone.oldLists[property] = .identity(identity) }
    }

    /// Edits a list.
    ///
    /// - Returns: what leads back.
    private mutating func edit(
        _ property: Int, at place: Int, _ edits: ListEdits, _ object: ObjectRef
    ) throws -> ListEdits {
        guard var list = changes[place].takeList(property) else {
            throw mismatch(object, "edits a list", "has none there")
        }
        let inverse = edits.inverse(of: &list)
        list.apply(edits)
        changes[place].lists[property] = list
        if !(changes[place].unwritten?.contains(property) ?? false) || changes[place].edits[property] != nil {
            changes[place].edits[property, default: ListEdits()].append(edits)
        }
        return inverse
    }

    /// The object that a creation makes.
    private mutating func makeRow(_ change: JournalChange, version: UInt64) -> Row {
        if let known {
            defer { createdCount += 1 }
            var row = known.created[createdCount]
            row.version = version
            return row
        }
        return change.newRow(of: storage.schema[change.object.classIndex], version: version)
    }

    /// The place in `changes` of the object that the present change concerns; nil if it is the first to.
    private func place(of object: ObjectRef) -> Int? {
        guard let known else { return placesByName[object] }
        let place = placesByNumber[known.numbers[changeCount]]
        return place < 0 ? nil : place
    }

    /// The same for an object that may be there, where it is as the transactions so far leave it.
    private mutating func placeOfKnown(_ object: ObjectRef) throws -> Int {
        let place =
            try place(of: object)
            ?? add(object, known?.before[known?.numbers[changeCount] ?? 0] ?? storage.row(object))
        noteAuthor(at: place)
        return place
    }

    private mutating func noteAuthor(at place: Int) {
        if changes[place].authors.isEmpty {
            changes[place].authors = author
        } else {
            changes[place].authors.append(transactionCount)
        }
    }

    private mutating func add(_ object: ObjectRef, _ row: Row?) -> Int {
        let place = changes.count
        if let known { placesByNumber[known.numbers[changeCount]] = place } else { placesByName[object] = place }
        changes.append(Change(object: object, old: row, new: row, authors: [], unwritten: nil))
        return place
    }

    /// Throws unless the change is one that the schema allows.
    private func check(_ change: JournalChange) throws {
        let count = change.kind == .delete ? 0 : change.written.count
        guard LogChange(change).isPossible(in: storage.schema), change.values.count == count else {
            throw StorageError(.journal, "a group of the journal does not fit the schema of \(storage.connection.name)")
        }
    }

    func mismatch(_ object: ObjectRef, _ verb: String, _ state: String) -> StorageError {
        let name = storage.schema[object.classIndex].name
        return StorageError(
            .journal,
            "\(storage.connection.name): a group of the journal \(verb) an object of \(name) that \(state), so it was "
                + "made for another state")
    }

    /// Writes what had to wait until the end of the group.
    mutating func finish(at time: Timestamp) throws {
        // By position, here and below: to copy a change takes longer than what is done with it.
        for position in changes.indices {
            changes[position].closeLists()
            if let unwritten = changes[position].unwritten, let row = changes[position].new {
                try storage.update(
                    row, ofClass: changes[position].object.classIndex, changed: unwritten,
                    edits: changes[position].edits)
                changes[position].unwritten = nil
            }
            // Where a write has failed, the transaction fails when it ends.
            assert(
                (try? storage.row(changes[position].object)) == .some(changes[position].new)
                    || storage.connection.writeFailure != nil,
                "what is stored reads as it was written")
        }
        assert(runs.allSatisfy(isStored), "what is stored reads as it was written")
        for (client, sequence) in progress { try storage.storeProgress(of: client, sequence, at: time) }
        for client in rejected { try storage.trimRejections(of: client) }
    }

    /// The change of each object that existed before the group or exists after it.
    ///
    /// - Parameter time: how the time of queries moves with the group.
    func delta(version: UInt64, _ time: TimeStep) -> CommitDelta {
        if !runs.isEmpty, changes.isEmpty {
            let runs = runs
            return CommitDelta(
                count: runs.reduce(0) { $0 + $1.count }, classes: Set(runs.map(\.classIndex)), version: version,
                time: time
            ) { runs.flatMap(\.deltas) }
        }
        var deltas: [ObjectDelta] = []
        deltas.reserveCapacity(changes.count)
        for position in changes.indices where changes[position].old != nil || changes[position].new != nil {
            deltas.append(
                ObjectDelta(
                    object: changes[position].object, old: changes[position].old, new: changes[position].new,
                    authors: changes[position].authors))
        }
        for run in runs { deltas += run.deltas }
        return CommitDelta(changes: deltas, version: version, time: time)
    }
}
