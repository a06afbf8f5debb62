internal import Sluice
internal import SluiceModel
internal import SluiceStorage

/// The objects of a database as a transaction leaves them, before it is committed: those that it has written, over those
/// that are stored.
final class PendingObjects: TransactionTarget {
    private let stored: any ObjectReading
    private var written: [ObjectRef: Row?] = [:]

    /// - Parameter stored: the state that the transaction begins with.
    init(_ stored: any ObjectReading) { self.stored = stored }

    var reader: (any ClientReading)? { nil }

    func row(_ object: ObjectRef) throws -> Row? {
        if let known = written[object] { return known }
        return try stored.row(object)
    }

    func delete(_ object: ObjectRef, replacing old: Row?) { written[object] = .some(nil) }

    func update(
        _ row: Row, of object: ObjectRef, changed: PropertySet, replacing old: Row, edits: [Int: ListEdits]
    ) {
        written[object] = .some(row)
    }

    func insert(_ row: Row, of object: ObjectRef) throws -> Bool {
        guard try self.row(object) == nil else { return false }
        written[object] = .some(row)
        return true
    }
}
