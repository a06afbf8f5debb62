import SluiceModel
import SluiceQuery

/// A state as the reader of a view sees it: what the reader's context does not allow is absent.
final class ReadableSource: ViewSource {
    private let source: any ViewSource
    private let objects: ReadableObjects
    private let context: ReadContext

    /// - Parameter source: the state as it is.
    init(_ source: any ViewSource, in context: ReadContext) {
        self.source = source
        self.context = context
        objects = ReadableObjects(source, in: context)
    }

    func row(_ object: ObjectRef) throws -> Row? { try objects.row(object) }

    func isPresent(_ object: ObjectRef) throws -> Bool { try objects.isPresent(object) }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try objects.backlinks(to: object, fromClass: classIndex, property: property, body)
    }

    func spend(_ stepCount: Int) throws { try source.spend(stepCount) }

    var memo: EvaluationMemo? { source.memo }

    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws {
        try source.rows(matching: query.read(in: context), after: position, limit: limit, body)
    }

    /// The targets may be objects that the reader does not see, as they may be missing ones.
    func links(
        fromMatchesOf query: Query, through properties: PropertySet,
        _ body: (_ property: Int, _ target: ObjectKey, _ count: Int) throws -> Void
    ) throws {
        try source.links(fromMatchesOf: query.read(in: context), through: properties, body)
    }

    func object(withID id: ObjectID) throws -> ObjectRef? {
        guard let object = try source.object(withID: id), try objects.isPresent(object) else { return nil }
        return object
    }
}
