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
    private var entries: [Entry] = []
    private var positions = ObjectPositions()

    init(_ storage: any JournaledStorage) { self.storage = storage }

    /// Whether an upload of the group has read or changed an object.
    func has(_ object: ObjectRef) -> Bool { positions[object] != nil }

    /// An object as the uploads so far leave it.
    mutating func row(_ object: ObjectRef) throws -> Row? {
        if let position = positions[object] { return entries[position].after }
        let row = try storage.row(object)
        append(Entry(before: row, after: row), of: object)
        return row
    }

    /// Notes how an upload leaves an object. One that was not read was not there before the group.
    mutating func set(_ row: Row?, of object: ObjectRef) {
        if let position = positions[object] {
            entries[position].after = row
        } else {
            append(Entry(before: nil, after: row), of: object)
        }
    }

    /// An object as it was read before the group; nil if it was not there or not read.
    func before(_ object: ObjectRef) -> Row? { positions[object].flatMap { entries[$0].before } }

    private mutating func append(_ entry: Entry, of object: ObjectRef) {
        positions.append(object)
        entries.append(entry)
    }
}
