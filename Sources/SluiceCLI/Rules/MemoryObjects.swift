internal import SluiceModel
internal import SluiceQuery

/// Objects in memory that queries are evaluated on.
final class MemoryObjects: ObjectSource {
    private let schema: Schema
    private(set) var rows: [ObjectRef: Row]

    init(_ schema: Schema, rows: [ObjectRef: Row] = [:]) {
        self.schema = schema
        self.rows = rows
    }

    /// The same objects with one in another state; nil for one that is gone.
    func replacing(_ object: ObjectRef, by row: Row?) -> MemoryObjects {
        var rows = rows
        rows[object] = row
        return MemoryObjects(schema, rows: rows)
    }

    /// The objects of a class, sorted by key.
    func rows(ofClass classIndex: Int) -> [Row] {
        rows.filter { $0.key.classIndex == classIndex }.values.sorted { $0.key < $1.key }
    }

    /// The keys of a query's results.
    func keys(matching query: Query) throws -> [ObjectKey] {
        let evaluator = Evaluator(query, schema: schema)
        let keys = try rows(ofClass: query.classIndex).filter { try evaluator.matches($0, in: self) }.map(\.key)
        return Array(keys.prefix(query.limit ?? .max))
    }

    /// Rules do not depend on the time.
    var now: Timestamp { Timestamp(microseconds: 0) }

    func row(_ object: ObjectRef) throws -> Row? { rows[object] }

    func isPresent(_ object: ObjectRef) throws -> Bool { rows[object] != nil }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        for row in rows(ofClass: classIndex) {
            let links: [Value] =
                switch row.values[property] {
                case .list(let elements), .set(let elements): elements
                case .map(let map): map.entries.map(\.value)
                case let value: [value]
                }
            if links.contains(.link(object.key)), try !body(row.key) { return }
        }
    }
}
