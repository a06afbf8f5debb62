import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import TestSupport

/// The server's objects at one version, in dictionaries. It answers every question by reading all objects.
final class ServerState: ViewSource, RuledObjects {
    let schema: Schema
    let version: UInt64
    /// The time of the version.
    let now: Timestamp
    /// The schema that the server surely had when it came to this version: whoever stands here has been told of it.
    /// What was added since, or in the same step of the server, may still be on its way.
    let schemaAtFirst: Schema
    private let rows: [[ObjectKey: Row]]
    private var readableStates: [[String]: ServerState] = [:]
    private var ruledStates: [String: ServerState] = [:]
    private var snapshots: [String: (query: Query, snapshot: ViewSnapshot)] = [:]

    /// Reads all objects of the storage.
    init(_ storage: SQLiteServerStorage, after earlier: ServerState? = nil) throws {
        schema = storage.schema
        version = storage.version
        now = storage.now
        let isNew = earlier?.version != storage.version
        schemaAtFirst = (isNew ? earlier?.schema : earlier?.schemaAtFirst) ?? storage.schema
        rows = try storage.schema.classes.indices.map { classIndex in
            var rows: [ObjectKey: Row] = [:]
            try storage.forEachRow(ofClass: classIndex) { row in
                rows[row.key] = row
                return true
            }
            return rows
        }
    }

    /// Makes an earlier state: a later one, overlaid with old images.
    init(
        _ later: ServerState, version: UInt64, at now: Timestamp, schemaAtFirst: Schema,
        olds: [(object: ObjectRef, row: Row?)]
    ) {
        self.now = now
        schema = later.schema
        self.version = version
        self.schemaAtFirst = schemaAtFirst
        var rows = later.rows
        for (object, row) in olds { rows[object.classIndex][object.key] = row }
        self.rows = rows
    }

    /// The same state in the names and types of a later schema.
    init(_ other: ServerState, in schema: Schema) {
        self.schema = schema
        version = other.version
        now = other.now
        schemaAtFirst = other.schemaAtFirst
        rows = schema.classes.indices.map { classIndex in
            guard classIndex < other.rows.count else { return [:] }
            let declared = schema[classIndex]
            return other.rows[classIndex].mapValues { row in
                var row = row
                row.values += declared.defaultValues(for: row.key).dropFirst(row.values.count)
                for (position, property) in declared.properties.enumerated() {
                    // The elements of a list are the same ones in a wider type.
                    row.values[position] = property.type.fitting(row.values[position]) ?? row.values[position]
                }
                return row
            }
        }
    }

    /// The same state with other objects.
    private init(_ other: ServerState, rows: [[ObjectKey: Row]]) {
        schema = other.schema
        version = other.version
        now = other.now
        schemaAtFirst = other.schemaAtFirst
        self.rows = rows
    }

    /// The same state without what a context does not allow.
    private init(_ other: ServerState, in context: ReadContext) throws {
        schema = other.schema
        version = other.version
        now = other.now
        schemaAtFirst = other.schemaAtFirst
        rows = try other.rows.enumerated().map { classIndex, rows in
            try rows.filter { try context.allows($0.value, ofClass: classIndex, in: other) }
        }
    }

    /// The state as somebody sees it who may read only what conditions allow.
    ///
    /// - Parameter conditions: see ``ReadContext/init(_:schema:)``.
    func readable(by conditions: [String]) throws -> ServerState {
        guard !conditions.isEmpty else { return self }
        if let known = readableStates[conditions] { return known }
        let state = try ServerState(self, in: ReadContext(conditions, schema: schema))
        readableStates[conditions] = state
        return state
    }

    /// The state as a user sees it to whom rules apply.
    func readable(by access: RuledAccess) -> ServerState {
        guard access.rules != nil else { return self }
        if let known = ruledStates[access.name] { return known }
        let state = ServerState(self, rows: access.readable(of: self))
        ruledStates[access.name] = state
        return state
    }

    /// The same state with another row of an object.
    func overlaid(_ object: ObjectRef, _ row: Row) -> ServerState {
        var rows = rows
        rows[object.classIndex][object.key] = row
        return ServerState(self, rows: rows)
    }

    /// An object that another state has otherwise, or lacks; nil if both have the same objects with the same values.
    func difference(from other: ServerState) -> String? {
        for (classIndex, (rows, others)) in zip(rows, other.rows).enumerated() {
            for key in Set(rows.keys).union(others.keys).sorted() {
                if let row = rows[key], let other = others[key], Self.haveSameValues(row, other) { continue }
                let texts = [rows[key], others[key]].map { $0.map { "\($0)" } ?? "nothing" }
                return "\(schema[classIndex].name) \(key): \(texts[0]) and \(texts[1])"
            }
        }
        return nil
    }

    /// Not by equality: no number that is none equals itself. And not with the identities of list elements, which a state
    /// that was made of old images has also where a row that is read needs none.
    private static func haveSameValues(_ row: Row, _ other: Row) -> Bool {
        row.version == other.version && row.values.count == other.values.count
            && zip(row.values, other.values).allSatisfy { $0.isIdentical(to: $1) }
    }

    /// The objects of a class; none if the schema lacks it.
    func objects(named name: String) -> [ObjectKey: Row] { schema.index(of: name).map { rows[$0] } ?? [:] }

    func row(_ object: ObjectRef) -> Row? { rows[object.classIndex][object.key] }

    func isPresent(_ object: ObjectRef) -> Bool { row(object) != nil }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        for row in sortedRows(ofClass: classIndex) where row.values[property].linkedKeys.contains(object.key) {
            guard try body(row.key) else { return }
        }
    }

    func rows(
        matching query: Query, after position: SortPosition?, limit: Int?, _ body: (Row) throws -> Bool
    ) throws {
        let evaluator = Evaluator(query, schema: schema)
        let order = SortOrder(query.sort)
        var found: [(position: SortPosition, row: Row)] = []
        for row in sortedRows(ofClass: query.classIndex) where try evaluator.matches(row, in: self) {
            let id = Identity(className: query.className, key: row.key).objectID
            found.append((SortPosition(values: try evaluator.sortValues(of: row, in: self), id: id), row))
        }
        found.sort { order.precedes($0.position.values, $0.position.id, $1.position.values, $1.position.id) }
        for entry in found {
            if let position, !order.precedes(position.values, position.id, entry.position.values, entry.position.id) {
                continue
            }
            guard try body(entry.row) else { return }
        }
    }

    func object(withID id: ObjectID) -> ObjectRef? {
        for (classIndex, declared) in schema.classes.enumerated() {
            for key in rows[classIndex].keys
            where Identity(className: declared.name, key: key).objectID == id { return ObjectRef(classIndex, key) }
        }
        return nil
    }

    /// The content that a subscription to a query must have at this version.
    func view(_ text: String) throws -> (query: Query, snapshot: ViewSnapshot) {
        if let known = snapshots[text] { return known }
        let query = try Query.parse(text, schema: schema)
        let view = (query, try ViewSnapshot(of: query, schema: schema, in: self))
        snapshots[text] = view
        return view
    }

    /// What a subscription to a client's query should hold, when the client may have names that the server has yet to
    /// hear.
    func view(_ text: String, of client: Schema) throws -> (query: Query, snapshot: ViewSnapshot) {
        if let view = try? view(text) { return view }
        return try joined(with: client, for: text).state.view(text)
    }

    /// The same state in the names and types of the server and of a client, with a query of the client. Either of the two
    /// may have yet to hear of those of the other.
    func joined(with client: Schema, for text: String) throws -> (state: ServerState, query: Query) {
        var merged = schema
        try merged.merge(client)
        let state = merged == schema ? self : ServerState(self, in: merged)
        return (state, try Query.parse(text, schema: merged))
    }

    func identity(_ object: ObjectRef) -> Identity {
        Identity(className: schema[object.classIndex].name, key: object.key)
    }

    private func sortedRows(ofClass classIndex: Int) -> [Row] { rows[classIndex].values.sorted { $0.key < $1.key } }
}
