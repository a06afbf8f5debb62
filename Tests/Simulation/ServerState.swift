import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews

/// The server's objects at one version, in dictionaries. It answers every question by reading all objects.
final class ServerState: ViewSource {
    let schema: Schema
    let version: UInt64
    /// The schema that the server surely had when it came to this version: whoever stands here has been told of it.
    /// What was added since, or in the same step of the server, may still be on its way.
    let schemaAtFirst: Schema
    private let rows: [[ObjectKey: Row]]
    private var readableStates: [[String]: ServerState] = [:]
    private var ruledStates: [String: ServerState] = [:]
    private var snapshots: [String: (query: Query, snapshot: ViewSnapshot)] = [:]

    /// Reads all objects of the storage.
    init(_ storage: any ServerStorage, after earlier: ServerState? = nil) throws {
        schema = storage.schema
        version = storage.version
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
        _ later: ServerState, version: UInt64, schemaAtFirst: Schema, olds: [(object: ObjectRef, row: Row?)]
    ) {
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
        schemaAtFirst = other.schemaAtFirst
        self.rows = rows
    }

    /// The same state without what a context does not allow.
    private init(_ other: ServerState, in context: ReadContext) throws {
        schema = other.schema
        version = other.version
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

    /// Whether another state has the same objects, with the same values.
    func hasSameObjects(as other: ServerState) -> Bool { rows == other.rows }

    /// The objects of a class; none if the schema lacks it.
    func objects(named name: String) -> [ObjectKey: Row] { schema.index(of: name).map { rows[$0] } ?? [:] }

    func row(_ object: ObjectRef) -> Row? { rows[object.classIndex][object.key] }

    func isPresent(_ object: ObjectRef) -> Bool { row(object) != nil }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        for row in sortedRows(ofClass: classIndex) where Self.links(row.values[property]).contains(object.key) {
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
        var merged = schema
        try merged.merge(client)
        return try ServerState(self, in: merged).view(text)
    }

    func identity(_ object: ObjectRef) -> Identity {
        Identity(className: schema[object.classIndex].name, key: object.key)
    }

    private func sortedRows(ofClass classIndex: Int) -> [Row] { rows[classIndex].values.sorted { $0.key < $1.key } }

    static func links(_ value: Value) -> [ObjectKey] {
        switch value {
        case .link(let key): [key]
        case .list(let elements), .set(let elements): elements.flatMap(links)
        case .map(let map): map.entries.flatMap { links($0.value) }
        default: []
        }
    }
}

/// The states of the server, version by version, and the transactions that led to them. It is kept apart from the
/// server and survives the server's crashes.
final class ServerHistory {
    /// One accepted transaction. The client's number of it identifies it; times do not, since the server cuts those that
    /// are far ahead. The server's own transactions have no numbers, and go by their versions.
    struct Write: Hashable {
        let clientID: UInt64
        let sequence: UInt64
    }

    private(set) var latest: ServerState
    private var states: [UInt64: ServerState] = [:]
    /// How many times each transaction is in the log.
    private(set) var accepted: [Write: Int] = [:]
    /// The transactions that the last recording has found.
    private(set) var fresh: [SluiceStorage.LogEntry] = []

    init(_ storage: any ServerStorage) throws {
        latest = try ServerState(storage)
        states[latest.version] = latest
    }

    /// The states of histories that ended when a backup was put back, by the epochs that began in them.
    private var ended: [UInt64: [UInt64: ServerState]] = [:]
    private var backup: Backup?

    /// The history when the server's file was copied.
    private struct Backup {
        var latest: ServerState
        var states: [UInt64: ServerState]
        var accepted: [Write: Int]
        /// The server's epochs since then.
        var epochs: [UInt64]
    }

    /// The state at a version of the present history; nil if it never had that version.
    func state(at version: UInt64) -> ServerState? { states[version] }

    /// The state at a version that somebody has reached in an epoch; nil if the server never had that version.
    func state(at version: UInt64, inEpoch epoch: UInt64) -> ServerState? { (ended[epoch] ?? states)[version] }

    /// How many times a transaction is in the log that a client sent under one of its numbers.
    func acceptedCount(of sequence: UInt64, by clientIDs: [UInt64]) -> Int {
        clientIDs.reduce(0) { $0 + accepted[Write(clientID: $1, sequence: sequence), default: 0] }
    }

    /// Notes that an epoch has begun.
    func begin(epoch: UInt64) { backup?.epochs.append(epoch) }

    /// Notes that the server's file is copied.
    func backUp(inEpoch epoch: UInt64) {
        backup = Backup(latest: latest, states: states, accepted: accepted, epochs: [epoch])
    }

    /// Goes back to what was when the file was copied. Who has been told later versions is still of the history that
    /// ends here.
    func putBack() {
        guard var backup else { return }
        for epoch in backup.epochs { ended[epoch] = states }
        (latest, states, accepted, fresh) = (backup.latest, backup.states, backup.accepted, [])
        backup.epochs = []
        self.backup = backup
    }

    /// Checks that a node that follows has the objects that another one had at its version.
    func check(_ storage: any ServerStorage) throws {
        guard let known = states[storage.version] else {
            throw SimulationFailure("a node stands at version \(storage.version), which never was")
        }
        guard known.schema == storage.schema else { return }
        guard try ServerState(storage).hasSameObjects(as: known) else {
            throw SimulationFailure("a node has other objects at version \(storage.version) than another one had")
        }
    }

    /// Records the present state of the server.
    func record(_ storage: any ServerStorage) throws {
        fresh = []
        guard storage.version >= latest.version else {
            throw SimulationFailure("the server went back from version \(latest.version) to \(storage.version)")
        }
        guard storage.version > latest.version || storage.schema != latest.schema else { return }
        var next = latest.version + 1
        var repeated: SluiceStorage.LogEntry?
        try storage.forEachLogEntry(after: latest.version) { entry in
            guard entry.version == next else {
                throw SimulationFailure("the log goes from version \(next - 1) to \(entry.version)")
            }
            next += 1
            fresh.append(entry)
            let write = Write(
                clientID: entry.clientID, sequence: entry.clientID == 0 ? entry.version : entry.sequence)
            accepted[write, default: 0] += 1
            if accepted[write, default: 0] > 1 { repeated = entry }
            return true
        }
        if let repeated {
            throw SimulationFailure("version \(repeated.version) repeats a transaction of client \(repeated.clientID)")
        }
        let earlier = latest
        if storage.schema != latest.schema {
            states = states.mapValues { ServerState($0, in: storage.schema) }
        }
        latest = try ServerState(storage, after: earlier)
        states[latest.version] = latest
        guard latest.version > earlier.version + 1 else { return }
        // The server may have committed several groups at once.
        for version in earlier.version + 1..<latest.version {
            states[version] = ServerState(
                latest, version: version, schemaAtFirst: earlier.schemaAtFirst,
                olds: try storage.oldImages(since: version).map { ($0.object, $0.row) })
        }
    }
}
