internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// The objects that a group concerns, as its uploads leave them. Each is read once.
struct GroupObjects {
    private struct Entry {
        /// The object before the group.
        var before: Row?
        /// The object after the uploads so far.
        var after: Row?
    }

    private let storage: any JournaledStorage
    private var entries: [ObjectRef: Entry] = [:]

    init(_ storage: any JournaledStorage) { self.storage = storage }

    /// Whether an upload of the group has read or changed an object.
    func has(_ object: ObjectRef) -> Bool { entries[object] != nil }

    /// An object as the uploads so far leave it.
    mutating func row(_ object: ObjectRef) throws -> Row? {
        if let entry = entries[object] { return entry.after }
        let row = try storage.row(object)
        entries[object] = Entry(before: row, after: row)
        return row
    }

    /// Notes how an upload leaves an object. One that was not read was not there before the group.
    mutating func set(_ row: Row?, of object: ObjectRef) { entries[object, default: Entry()].after = row }

    /// An object as it was read before the group; nil if it was not there or not read.
    func before(_ object: ObjectRef) -> Row? { entries[object]?.before }
}
