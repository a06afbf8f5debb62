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

    var now: Timestamp { source.now }

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
        try source.rows(matching: query.read(in: context), after: position, limit: limit) {
            try body(objects.shown($0, ofClass: query.classIndex))
        }
    }

    /// The targets may be objects that the reader does not see, as they may be missing ones, but not where their
    /// identity is hidden.
    func links(
        fromMatchesOf query: Query, through properties: PropertySet,
        _ body: (_ property: Int, _ target: ObjectKey, _ count: Int) throws -> Void
    ) throws {
        let veiled = context.veiledLinks(ofClass: query.classIndex)
        try source.links(fromMatchesOf: query.read(in: context), through: properties) { property, key, count in
            if let link = veiled.first(where: { $0.property == property }),
                try !objects.isPresent(ObjectRef(link.targetClass, key))
            {
                return
            }
            try body(property, key, count)
        }
    }

    func matchCount(of query: Query) throws -> Int { try source.matchCount(of: query.read(in: context)) }

    func failure(_ error: FigureError) -> any Error { source.failure(error) }

    func figureRows(of query: Query, _ evaluator: Evaluator, _ body: ([Value]) throws -> Void) throws {
        try source.figureRows(of: query.read(in: context), evaluator, body)
    }

    func object(withID id: ObjectID) throws -> ObjectRef? {
        guard let object = try source.object(withID: id), try objects.isPresent(object) else { return nil }
        return object
    }
}
