internal import SluiceModel
internal import SluiceQuery

/// The state that the uploads of a group lead to, before the group is stored: the objects of the database, overlaid with
/// what the uploads so far have changed.
final class PreparedState: ObjectSource {
    private struct Link: Hashable {
        let target: ObjectRef
        let classIndex: Int
        let property: Int
    }

    private let source: any ObjectSource
    private let schema: Schema
    private var rows: [ObjectRef: Row?] = [:]
    /// Which changed objects link to an object; nil until somebody asks, since most rules follow no link backwards.
    private var links: [Link: Set<ObjectKey>]?

    /// - Parameter source: the state before the group.
    init(over source: any ObjectSource, schema: Schema) {
        self.source = source
        self.schema = schema
    }

    /// Changes objects, and takes that back if `body` throws.
    func attempt(_ changes: [(object: ObjectRef, row: Row?)], _ body: () throws -> Void) throws {
        let former = changes.map { rows[$0.object] }
        for (object, row) in changes { set(.some(row), of: object) }
        do { try body() } catch {
            for (change, row) in zip(changes, former).reversed() { set(row, of: change.object) }
            throw error
        }
    }

    /// - Parameter row: the object; an inner nil if it is gone, and an outer nil if it is as in the source.
    private func set(_ row: Row??, of object: ObjectRef) {
        if links != nil, let known = rows[object], let known { note(known, of: object, isThere: false) }
        rows[object] = row
        if links != nil, let row, let row { note(row, of: object, isThere: true) }
    }

    private func note(_ row: Row, of object: ObjectRef, isThere: Bool) {
        let classIndex = object.classIndex
        for (property, declared) in schema[classIndex].properties.enumerated() {
            guard let target = declared.type.targetClass.flatMap(schema.index(of:)) else { continue }
            row.values[property].forEachLink { key in
                let link = Link(target: ObjectRef(target, key), classIndex: classIndex, property: property)
                if isThere {
                    links?[link, default: []].insert(object.key)
                } else {
                    links?[link]?.remove(object.key)
                }
            }
        }
    }

    var now: Timestamp { source.now }

    func row(_ object: ObjectRef) throws -> Row? {
        if let known = rows[object] { return known }
        return try source.row(object)
    }

    func isPresent(_ object: ObjectRef) throws -> Bool {
        if let known = rows[object] { return known != nil }
        return try source.isPresent(object)
    }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        var isStopped = false
        try source.backlinks(to: object, fromClass: classIndex, property: property) { key in
            guard rows[ObjectRef(classIndex, key)] == nil else { return true }
            isStopped = try !body(key)
            return !isStopped
        }
        guard !isStopped else { return }
        if links == nil {
            links = [:]
            for (object, row) in rows { if let row { note(row, of: object, isThere: true) } }
        }
        for key in (links?[Link(target: object, classIndex: classIndex, property: property)] ?? []).sorted() {
            guard try body(key) else { return }
        }
    }

    func spend(_ stepCount: Int) throws { try source.spend(stepCount) }

    /// The state changes with each upload.
    var memo: EvaluationMemo? { nil }
}
