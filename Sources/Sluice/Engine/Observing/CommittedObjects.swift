internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// The objects of a store after a transaction, each read once.
final class CommittedObjects: ObjectSource {
    private let storage: SQLiteClientStorage
    private var rows: [ObjectRef: Row?]
    let memo: EvaluationMemo? = EvaluationMemo()
    /// How many objects were read from the store.
    private(set) var readCount: Int

    /// - Parameters:
    ///   - rows: the objects that are known already; nil for those that are not here.
    ///   - readCount: how many of them were read from the store.
    ///   - storage: the store after the commit.
    init(_ rows: [ObjectRef: Row?], readCount: Int, in storage: SQLiteClientStorage) {
        self.rows = rows
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
