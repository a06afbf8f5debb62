internal import SluiceModel
internal import SluiceStorage

/// An object that one upload touches.
struct TouchedObject {
    var object: ObjectRef
    /// Its number in the group.
    var number: Int
    /// The object before the upload.
    var old: Row?
    /// Whether nothing is known of the object before the upload, not even that it was deleted.
    var isUnknown: Bool
    /// Whether it exists and its author may not read it, so that it does not exist for the author.
    var isHidden = false
    /// Whether it may have had more than one creation.
    var isLineaged = false
    var merger: Merger
    /// What the operations are, for judging them.
    var deletes = false
    var wouldDelete = false
    var named: PropertySet = []
    /// Whether a creation had no effect, since others had deleted the object later.
    var isCreatedInVain = false
    /// What the author assigns and others have assigned meanwhile, and all operations of the author; only where a
    /// resolver may be asked.
    var contested: PropertySet = []
    var operations: [ObjectOperation] = []
}

extension TouchedObject {
    /// What an upload does to an object; nil if nothing comes of it.
    ///
    /// - Parameter base: the version that its author knew.
    func change(by author: WriteStamp, base: UInt64) -> JournalChange? {
        guard !isHidden, var note = merger.note(by: author, replacing: old, base: base, isLineaged: isLineaged) else {
            return nil
        }
        guard let row = merger.row else { return JournalChange(object, note) }
        if let old, merger.isBegunAnew {
            // What remains is told by the lineage; here is what leads from one object to the other.
            note.written = row.differences(from: old)
            note.partial = row.listEdits(note.written, from: old).sorted { $0.key < $1.key }.map {
                FieldOperation($0.key, .editList($0.value))
            }
        }
        // Merging finds the first partial change of a property that a note has, and no other.
        assert(
            note.partial.count < 2 || Set(note.partial.map(\.property)).count == note.partial.count,
            "two partial changes of one property join, see Change.fold")
        let edited = note.editedLists
        return JournalChange(object, note, values: note.written.map { edited.contains($0) ? .null : row.values[$0] })
    }

    /// Whether the upload changes the object at all.
    var changes: Bool {
        switch (old, merger.row) {
        case (nil, nil): false
        case (nil, _), (_, nil): true
        case (let old?, let row?): !row.differences(from: old).isEmpty
        }
    }

    /// Notes what an operation assigns that others have assigned too.
    mutating func note(_ operation: ObjectOperation, by upload: Upload, _ history: ObjectHistory) {
        operations.append(operation)
        guard old != nil else { return }
        for field in operation.fields where field.change.isAssignment {
            // What nobody chose is no conflict.
            if case .setDefault = field.change { continue }
            if history.isAssigned(field.property, byOtherThan: upload.clientID) { contested.insert(field.property) }
        }
    }

    /// Sets a value that a resolver or validator has given.
    mutating func decide(_ property: Int, _ value: Value) {
        merger.decide(property, value, former: old?.values[property])
    }
}
