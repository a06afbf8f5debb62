internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The database's current state as live views read it.
final class DatabaseSource: ViewSource {
    private let storage: any ServerStorage

    init(_ storage: any ServerStorage) { self.storage = storage }

    func row(_ object: ObjectRef) throws -> Row? { try storage.row(object) }

    func isPresent(_ object: ObjectRef) throws -> Bool { try storage.isPresent(object) }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try storage.backlinks(to: object, fromClass: classIndex, property: property, body)
    }

    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws {
        try storage.forEachRow(matching: query, after: position.map { ($0.values, $0.id) }, limit: limit, body)
    }

    func object(withID id: ObjectID) throws -> ObjectRef? { try storage.findObject(id) }
}

extension DatabaseEngine {
    var source: DatabaseSource { DatabaseSource(storage) }
}
