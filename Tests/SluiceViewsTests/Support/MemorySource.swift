import SluiceModel
import SluiceQuery

@testable import SluiceViews

/// A state in dictionaries, which answers every question by reading all objects.
final class MemorySource: ViewSource {
    let schema: Schema
    /// The value of `$now`.
    var now = Timestamp(microseconds: 0)
    /// The time of the last commit.
    private var committedAt = Timestamp(microseconds: 0)
    private(set) var rows: [[ObjectKey: Row]]
    private var sorted: [Int: [Row]] = [:]
    /// Kept, since making an id takes longer than everything else in a debug build.
    private var ids: [ObjectRef: ObjectID] = [:]
    /// The number of queries so far.
    private(set) var queryCount = 0
    /// The number of rows read so far.
    private(set) var readCount = 0

    init(schema: Schema = TestSchema.schema) {
        self.schema = schema
        rows = schema.classes.map { _ in [:] }
    }

    func set(_ object: ObjectRef, _ row: Row?) {
        rows[object.classIndex][object.key] = row
        sorted[object.classIndex] = nil
    }

    func row(_ object: ObjectRef) -> Row? {
        readCount += 1
        return rows[object.classIndex][object.key]
    }

    func isPresent(_ object: ObjectRef) -> Bool { rows[object.classIndex][object.key] != nil }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        precondition(schema[classIndex].properties[property].type.targetClass == schema[object.classIndex].name)
        for row in sortedRows(ofClass: classIndex) where links(row.values[property], to: object.key) {
            guard try body(row.key) else { return }
        }
    }

    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws {
        queryCount += 1
        let evaluator = Evaluator(query, schema: schema)
        let order = SortOrder(query.sort)
        let source = ReadableObjects(self, in: query.context)
        var found: [(position: SortPosition, row: Row)] = []
        for stored in sortedRows(ofClass: query.classIndex) {
            guard let row = try source.row(ObjectRef(query.classIndex, stored.key)),
                try evaluator.matches(row, in: source)
            else { continue }
            let id = id(of: ObjectRef(query.classIndex, row.key))
            let own = SortPosition(values: try evaluator.sortValues(of: row, in: source), id: id)
            if let position, !order.precedes(position, own) { continue }
            found.append((own, row))
        }
        found.sort { order.precedes($0.position, $1.position) }
        for (_, row) in found.prefix(limit ?? .max) { guard try body(row) else { return } }
    }

    func object(withID id: ObjectID) -> ObjectRef? {
        for classIndex in schema.classes.indices {
            for key in rows[classIndex].keys {
                let object = ObjectRef(classIndex, key)
                if self.id(of: object) == id { return object }
            }
        }
        return nil
    }

    private func id(of object: ObjectRef) -> ObjectID {
        if let known = ids[object] { return known }
        let made = Identity(className: schema[object.classIndex].name, key: object.key).objectID
        ids[object] = made
        return made
    }

    func sortedRows(ofClass classIndex: Int) -> [Row] {
        if let known = sorted[classIndex] { return known }
        let rows = rows[classIndex].values.sorted { $0.key < $1.key }
        sorted[classIndex] = rows
        return rows
    }

    private func links(_ value: Value, to key: ObjectKey) -> Bool {
        var isFound = false
        value.forEachLink { isFound = isFound || $0 == key }
        return isFound
    }

    /// The state as the reader of a query sees it: a copy without what the query's context does not allow.
    func readable(in context: ReadContext) throws -> MemorySource {
        guard !context.isEverything else { return self }
        let copy = MemorySource(schema: schema)
        copy.now = now
        for classIndex in schema.classes.indices {
            for row in rows[classIndex].values where try context.allows(row, ofClass: classIndex, in: self) {
                copy.set(ObjectRef(classIndex, row.key), row)
            }
        }
        for classIndex in schema.classes.indices {
            for row in copy.sortedRows(ofClass: classIndex) {
                copy.set(ObjectRef(classIndex, row.key), copy.withoutVeiledLinks(row, ofClass: classIndex, context))
            }
        }
        return copy
    }

    /// A row without the links to objects that are not in this state, where their class hides who they are.
    private func withoutVeiledLinks(_ row: Row, ofClass classIndex: Int, _ context: ReadContext) -> Row {
        var row = row
        for (property, declared) in schema[classIndex].properties.enumerated() {
            guard let target = declared.type.targetClass.flatMap(schema.index(of:)),
                context.veil(ofClass: target).hidesIdentity, context.condition(ofClass: target) != nil
            else { continue }
            func isVeiled(_ value: Value) -> Bool {
                if case .link(let key) = value { !isPresent(ObjectRef(target, key)) } else { false }
            }
            switch row.values[property] {
            case .link where isVeiled(row.values[property]): row.values[property] = .null
            case .list(let elements): row.values[property] = .list(elements.filter { !isVeiled($0) })
            case .set(let elements): row.values[property] = .set(elements.filter { !isVeiled($0) })
            case .map(let map):
                let kept = map.entries.filter { !isVeiled($0.value) }.map { (key: $0.key, value: $0.value) }
                row.values[property] = .map(ValueMap(kept))
            default: break
            }
        }
        return row
    }

    /// Sets objects, or deletes them (nil), and returns the change as one commit group with an author for each object.
    func commit(_ edits: [(ObjectRef, Row?)]) -> (CommitDelta, OldStateSource) {
        var first: [ObjectRef: Row?] = [:]
        var authors: [ObjectRef: [Int]] = [:]
        var order: [ObjectRef] = []
        for (author, (object, row)) in edits.enumerated() {
            if first[object] == nil {
                first.updateValue(rows[object.classIndex][object.key], forKey: object)
                order.append(object)
            }
            authors[object, default: []].append(author)
            set(object, row)
        }
        let changes = order.compactMap { object -> ObjectDelta? in
            let old = first[object] ?? nil
            let new = rows[object.classIndex][object.key]
            guard old != nil || new != nil else { return nil }
            return ObjectDelta(object: object, old: old, new: new, authors: authors[object] ?? [])
        }
        let delta = CommitDelta(changes: changes, version: 1, time: TimeStep(from: committedAt, to: now))
        committedAt = now
        return (delta, OldStateSource(delta, over: self, schema: schema))
    }

    func commit(_ edits: (ObjectRef, Row?)...) -> (CommitDelta, OldStateSource) { commit(edits) }
}
