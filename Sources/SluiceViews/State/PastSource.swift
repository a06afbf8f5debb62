import SluiceModel
import SluiceQuery

/// A past state that views can be taken back to: the present state, overlaid with the old images of everything that
/// changed since.
final class PastSource: ViewSource {
    private let commit: CommitDelta
    private let present: any ViewSource
    private let past: OldStateSource
    private let schema: Schema

    /// - Parameters:
    ///   - commit: what changed from the past state to the present one.
    ///   - present: the present state.
    init(_ commit: CommitDelta, over present: any ViewSource, schema: Schema) {
        self.commit = commit
        self.present = present
        self.schema = schema
        past = OldStateSource(commit, over: present, schema: schema)
    }

    var now: Timestamp { past.now }

    func row(_ object: ObjectRef) throws -> Row? { try past.row(object) }

    func isPresent(_ object: ObjectRef) throws -> Bool { try past.isPresent(object) }

    var memo: EvaluationMemo? { past.memo }

    func spend(_ stepCount: Int) throws { try past.spend(stepCount) }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try past.backlinks(to: object, fromClass: classIndex, property: property, body)
    }

    /// Merges the present rows that match and sort as they did then with the past rows of all other objects.
    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws {
        let evaluator = Evaluator(query, schema: schema)
        let order = SortOrder(query.sort)
        func place(_ row: Row, in source: any ObjectSource) throws -> SortPosition {
            SortPosition(
                values: try evaluator.sortValues(of: row, in: source),
                id: Identity(className: query.className, key: row.key).objectID)
        }
        let moved = try moved(query)
        var others: [(position: SortPosition, row: Row)] = []
        for object in moved {
            guard let row = try past.row(object), try evaluator.matches(row, in: past) else { continue }
            let own = try place(row, in: past)
            if let position, !order.precedes(position, own) { continue }
            others.append((own, row))
        }
        others.sort { order.precedes($0.position, $1.position) }
        var next = others.startIndex
        var isStopped = false
        let wanted = limit.map { $0.addingReportingOverflow(moved.count) }
        try present.rows(matching: query, after: position, limit: wanted.map { $0.overflow ? .max : $0.partialValue }) {
            row in
            guard !moved.contains(ObjectRef(query.classIndex, row.key)) else { return true }
            if next < others.endIndex {
                let own = try place(row, in: present)
                while !isStopped, next < others.endIndex, order.precedes(others[next].position, own) {
                    isStopped = try !body(others[next].row)
                    next += 1
                }
            }
            if !isStopped { isStopped = try !body(row) }
            return !isStopped
        }
        while !isStopped, next < others.endIndex {
            isStopped = try !body(others[next].row)
            next += 1
        }
    }

    /// The objects of the queried class that may match the query or sort differently now than then.
    private func moved(_ query: Query) throws -> Set<ObjectRef> {
        var moved = Set(commit.changes.lazy.map(\.object).filter { $0.classIndex == query.classIndex })
        for (object, _) in try PathDependents(query.dependencies).roots(affectedBy: commit, in: present) {
            moved.insert(object)
        }
        return moved
    }

    func object(withID id: ObjectID) throws -> ObjectRef? {
        for change in commit.changes where change.old != nil {
            let name = schema[change.object.classIndex].name
            if Identity(className: name, key: change.object.key).objectID == id { return change.object }
        }
        guard let object = try present.object(withID: id), commit.change(of: object) == nil else { return nil }
        return object
    }
}
