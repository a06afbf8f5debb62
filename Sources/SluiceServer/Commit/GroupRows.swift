internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The objects that a group has changed so far, as its uploads leave them.
///
/// Each row is read once for the group. Changed values are also written once, at the end: a thousand uploads to one
/// object write its row once. A row that is created or deleted is written at once, since other rows may link to it.
struct GroupRows {
    private struct Change {
        var object: ObjectRef
        /// The object before the group.
        var old: Row?
        /// The object after the uploads so far.
        var new: Row?
        /// The uploads that changed the object, by their position in the group.
        var authors: [Int]
        /// The properties of `new` that are not stored yet; nil if all are.
        var unwritten: PropertySet?
    }

    private let storage: any ServerStorage
    private var changes: [Change] = []
    private var positions: [ObjectRef: Int] = [:]

    init(_ storage: any ServerStorage) { self.storage = storage }

    /// Reads an object as the uploads so far leave it.
    func row(_ object: ObjectRef) throws -> Row? {
        if let position = positions[object] { return changes[position].new }
        return try storage.row(object)
    }

    /// Stores an object of which storage knows nothing, not even that it was deleted.
    ///
    /// - Returns: false, without an effect, if storage knows the object.
    func insertIfUnknown(_ row: Row, of object: ObjectRef) throws -> Bool {
        guard positions[object] == nil else { return false }
        return try storage.insertIfUnknown(row, ofClass: object.classIndex)
    }

    /// Records the effect of an upload on an object, and stores it unless that can wait until the end.
    ///
    /// - Parameters:
    ///   - old: the object before the upload.
    ///   - new: the object after the upload.
    ///   - stored: the row that ``insertIfUnknown(_:of:)`` stored, if the upload began with that.
    ///   - changed: the properties in which `new` differs from `old`.
    mutating func note(
        _ object: ObjectRef, old: Row?, new: Row?, stored: Row?, changed: PropertySet, version: UInt64, author: Int
    ) throws {
        let position = positions[object] ?? changes.count
        if position == changes.count {
            positions[object] = position
            changes.append(Change(object: object, old: old, new: old, authors: [], unwritten: nil))
        }
        changes[position].new = new
        changes[position].authors.append(author)
        switch (old, new) {
        case (nil, nil): break
        case (nil, let row?):
            if stored == nil {
                try storage.insert(row, ofClass: object.classIndex)
            } else if !changed.isEmpty {
                try storage.update(row, ofClass: object.classIndex, changed: changed)
            }
            changes[position].unwritten = nil
        case (_?, nil):
            try storage.delete(object, version: version)
            changes[position].unwritten = nil
        case (_?, _?):
            changes[position].unwritten = (changes[position].unwritten ?? []).union(changed)
        }
    }

    /// Writes the changes that had to wait until the end.
    mutating func write() throws {
        for position in changes.indices {
            let change = changes[position]
            if let unwritten = change.unwritten, let row = change.new {
                try storage.update(row, ofClass: change.object.classIndex, changed: unwritten)
                changes[position].unwritten = nil
            }
            assert((try? storage.row(change.object)) == .some(change.new), "what is stored reads as it was written")
        }
    }

    /// The change of each object that existed before the group or exists after it.
    var deltas: [ObjectDelta] {
        changes.compactMap { change in
            guard change.old != nil || change.new != nil else { return nil }
            return ObjectDelta(object: change.object, old: change.old, new: change.new, authors: change.authors)
        }
    }
}
