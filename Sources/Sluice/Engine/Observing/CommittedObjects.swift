internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// The objects of a store after a transaction, each read once.
final class CommittedObjects: ObjectSource {
    private let storage: SQLiteClientStorage
    private let changes: [ObjectDelta]
    /// The objects that are known; nil for those that are not here. Most transactions end without anybody asking.
    private lazy var rows = [ObjectRef: Row?](changes.lazy.map { ($0.object, $0.new) }) { $1 }
    let memo: EvaluationMemo? = EvaluationMemo()
    /// How many objects were read from the store.
    private(set) var readCount: Int

    /// - Parameters:
    ///   - changes: the objects that are known already.
    ///   - readCount: how many of them were read from the store.
    ///   - storage: the store after the commit.
    init(_ changes: [ObjectDelta], readCount: Int, in storage: SQLiteClientStorage) {
        self.changes = changes
        self.storage = storage
        self.readCount = readCount
    }

    var now: Timestamp { storage.now }

    func row(_ object: ObjectRef) throws -> Row? {
        if let known = rows[object] { return known }
        readCount += 1
        let row = try storage.row(object)
        rows[object] = .some(row)
        return row
    }

    func isPresent(_ object: ObjectRef) throws -> Bool {
        if let known = rows[object] { return known != nil }
        return try storage.isPresent(object)
    }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try storage.backlinks(to: object, fromClass: classIndex, property: property, body)
    }
}
