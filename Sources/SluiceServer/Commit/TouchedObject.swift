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
    var merger: Merger
    /// What the operations are, for judging them.
    var deletes = false
    var wouldDelete = false
    var named: PropertySet = []
    /// What the author assigns and others have assigned meanwhile, and all operations of the author; only where a
    /// resolver may be asked.
    var contested: PropertySet = []
    var operations: [ObjectOperation] = []
}

extension TouchedObject {
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
