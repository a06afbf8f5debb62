package import SluiceModel
package import SluiceQuery

/// The state after a commit group, as all views read it: what one of them has read, the others need not read again.
///
/// Only for as long as the state does not change.
package final class CommitSource: ViewSource {
    private let commit: CommitDelta
    private let source: any ViewSource
    private var rows: [ObjectRef: Row?] = [:]
    private var presences: [ObjectRef: Bool] = [:]

    /// The most objects of which something is kept.
    private static let countMax = 4_096

    /// - Parameters:
    ///   - commit: the group.
    ///   - source: the state after it.
    package init(_ commit: CommitDelta, over source: any ViewSource) {
        self.commit = commit
        self.source = source
    }

    package var now: Timestamp { commit.time?.after ?? source.now }

    package func row(_ object: ObjectRef) throws -> Row? {
        if let change = commit.change(of: object) { return change.new }
        if let known = rows[object] { return known }
        let row = try source.row(object)
        if rows.count >= Self.countMax { rows.removeAll(keepingCapacity: true) }
        rows.updateValue(row, forKey: object)
        return row
    }

    package func isPresent(_ object: ObjectRef) throws -> Bool {
        if let change = commit.change(of: object) { return change.new != nil }
        if let known = presences[object] { return known }
        let isPresent = try source.isPresent(object)
        if presences.count >= Self.countMax { presences.removeAll(keepingCapacity: true) }
        presences[object] = isPresent
        return isPresent
    }

    package func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try source.backlinks(to: object, fromClass: classIndex, property: property, body)
    }

    package func spend(_ stepCount: Int) throws { try source.spend(stepCount) }

    package var memo: EvaluationMemo? { source.memo }

    package func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws {
        try source.rows(matching: query, after: position, limit: limit, body)
    }

    package func links(
        fromMatchesOf query: Query, through properties: PropertySet,
        _ body: (_ property: Int, _ target: ObjectKey, _ count: Int) throws -> Void
    ) throws {
        try source.links(fromMatchesOf: query, through: properties, body)
    }

    package func matchCount(of query: Query) throws -> Int { try source.matchCount(of: query) }

    package func failure(_ error: FigureError) -> any Error { source.failure(error) }

    package func figureRows(of query: Query, _ evaluator: Evaluator, _ body: ([Value]) throws -> Void) throws {
        try source.figureRows(of: query, evaluator, body)
    }

    package func object(withID id: ObjectID) throws -> ObjectRef? { try source.object(withID: id) }
}
