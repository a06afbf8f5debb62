internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// The objects that a group concerns, as its uploads leave them. Each is looked up once, and has a number from then on.
struct GroupObjects {
    private struct Entry {
        /// The object before the group.
        var before: Row?
        /// The object after the uploads so far.
        var after: Row?
        /// Whether it was read, or changed by an upload.
        var isKnown = false
        /// Whether an upload has created or deleted it.
        var isReset = false
        /// Whether it was ever deleted, or met by a creation; nil if nobody has asked.
        var isLineaged: Bool?
        /// The upload that came to it last, counted from 1, and its place among the objects of that upload.
        var upload = 0
        var place = 0
    }

    private let storage: SQLiteServerStorage
    private var numbers: [ObjectRef: Int] = [:]
    private var entries: [Entry] = []

    init(_ storage: SQLiteServerStorage) { self.storage = storage }

    var isEmpty: Bool { entries.isEmpty }

    /// Makes room for further objects.
    mutating func reserveCapacity(_ count: Int) {
        // Once, and then as it grows by itself: a group has many small uploads, or few large ones.
        guard entries.isEmpty else { return }
        numbers.reserveCapacity(count)
        entries.reserveCapacity(count)
    }

    /// The number of an object in the group.
    mutating func number(of object: ObjectRef) -> Int {
        func value(_ number: inout Int) -> Int { number }
        let number = value(&numbers[object, default: entries.count])
        if number == entries.count { entries.append(Entry()) }
        return number
    }

    /// The place of an object in an upload.
    ///
    /// - Parameters:
    ///   - upload: the number of the upload, counted from 1; they ascend.
    ///   - next: the place that the object gets if the upload has not come to it before.
    mutating func place(of number: Int, in upload: Int, next: Int) -> Int {
        if entries[number].upload != upload {
            entries[number].upload = upload
            entries[number].place = next
        }
        return entries[number].place
    }

    /// Whether an upload of the group has read or changed an object.
    func isKnown(_ number: Int) -> Bool { entries[number].isKnown }

    /// Whether nothing counts that was done to an object before the group.
    func isReset(_ number: Int) -> Bool { entries[number].isReset }

    /// Whether an object may have had more than one creation: it was deleted, or a creation has met it.
    mutating func isLineaged(_ number: Int, of object: ObjectRef) throws -> Bool {
        if let known = entries[number].isLineaged { return known }
        let isLineaged = try storage.incarnation(of: object) > 0
        entries[number].isLineaged = isLineaged
        return isLineaged
    }

    /// An object as the uploads so far leave it.
    mutating func row(_ number: Int, of object: ObjectRef) throws -> Row? {
        if entries[number].isKnown { return entries[number].after }
        let row = try storage.row(object)
        entries[number].before = row
        entries[number].after = row
        entries[number].isKnown = true
        return row
    }

    /// Whether an object that the group has come to is there after the uploads so far.
    func isPresent(_ number: Int) -> Bool { entries[number].after != nil }

    /// An object before the group.
    mutating func before(_ number: Int, of object: ObjectRef) throws -> Row? {
        _ = try row(number, of: object)
        return entries[number].before
    }

    /// Notes how an upload leaves an object. One that was not read was not there before the group.
    ///
    /// - Parameters:
    ///   - isReset: whether the upload has created or deleted it.
    ///   - isLineaged: whether it was deleted, or a creation or a deletion has met it.
    mutating func set(_ row: Row?, of number: Int, isReset: Bool, isLineaged: Bool = false) {
        entries[number].after = row
        entries[number].isKnown = true
        if isReset { entries[number].isReset = true }
        if isLineaged { entries[number].isLineaged = true }
    }

    /// The objects that were read or changed, as the uploads so far leave them. O(n).
    var known: [(object: ObjectRef, row: Row?)] {
        numbers.compactMap { entries[$0.value].isKnown ? ($0.key, entries[$0.value].after) : nil }
    }

    /// The objects as they were read before the group, by number; nil for one that was not there.
    var before: [Row?] { entries.map(\.before) }
}
