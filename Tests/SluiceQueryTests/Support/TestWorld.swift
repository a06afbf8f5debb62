import SluiceModel
import SluiceStorage
import Testing

@testable import SluiceQuery

/// A few objects, in memory for the evaluator and in SQLite for compiled queries.
final class TestWorld: ObjectSource {
    let schema: Schema
    /// The value of `$now`.
    var now = Timestamp(microseconds: 0) { didSet { memo = EvaluationMemo() } }
    private(set) var rows: [ObjectRef: Row] = [:] {
        didSet { memo = EvaluationMemo() }
    }
    private(set) var memo: EvaluationMemo? = EvaluationMemo()
    /// Local row ids, ghosts included.
    private var ids: [ObjectRef: Int64] = [:]
    private let layout = TableLayout()
    /// The database of the objects, once it was made.
    private var known: TestDatabase?

    init(_ schema: Schema) { self.schema = schema }

    func row(_ object: ObjectRef) throws -> Row? { rows[object] }

    func isPresent(_ object: ObjectRef) throws -> Bool { rows[object] != nil }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        for owner in rows.keys.sorted() where owner.classIndex == classIndex {
            guard let value = rows[owner]?.values[property], Self.links(value).contains(object.key) else { continue }
            guard try body(owner.key) else { return }
        }
    }

    private static func links(_ value: Value) -> [ObjectKey] {
        switch value {
        case .link(let key): [key]
        case .list(let elements), .set(let elements): elements.flatMap(links)
        case .map(let map): map.entries.flatMap { links($0.value) }
        default: []
        }
    }

    func insert(_ className: String, _ key: ObjectKey, _ values: [String: Value] = [:], absent: [String] = []) throws {
        let classIndex = try #require(schema.index(of: className))
        let declared = schema[classIndex]
        var row = Row(key: key, values: declared.defaultValues(for: key))
        for (name, value) in values { row.values[try #require(declared.index(of: name))] = value }
        row.absent = PropertySet(try absent.map { try #require(declared.index(of: $0)) })
        rows[ObjectRef(classIndex, key)] = row
        known = nil
        ids = [:]
    }

    /// The same world without one object.
    func without(_ object: ObjectRef) -> TestWorld {
        let world = TestWorld(schema)
        world.now = now
        world.rows = rows
        world.rows[object] = nil
        return world
    }

    /// The same world without the links to objects of some classes that are not here.
    func withoutDanglingLinks(to classes: Set<Int>) -> TestWorld {
        let world = TestWorld(schema)
        world.now = now
        world.rows = rows
        for (object, row) in rows {
            for (position, property) in schema[object.classIndex].properties.enumerated() {
                guard let target = property.type.targetClass.flatMap(schema.index(of:)), classes.contains(target) else {
                    continue
                }
                func isHere(_ value: Value) -> Bool {
                    if case .link(let key) = value { rows[ObjectRef(target, key)] != nil } else { true }
                }
                switch row.values[position] {
                case .list(let elements): world.rows[object]?.values[position] = .list(elements.filter(isHere))
                case .set(let elements): world.rows[object]?.values[position] = .set(elements.filter(isHere))
                case .map(let map):
                    let kept = map.entries.filter { isHere($0.value) }.map { (key: $0.key, value: $0.value) }
                    world.rows[object]?.values[position] = .map(ValueMap(kept))
                case let value: if !isHere(value) { world.rows[object]?.values[position] = .null }
                }
            }
        }
        return world
    }

    // MARK: The evaluator's answer

    /// The keys of the results, in order.
    func evaluate(_ query: Query) throws -> [ObjectKey] {
        let evaluator = Evaluator(query, schema: schema)
        let source = ReadableObjects(self, in: query.context)
        var results: [(values: [Value], id: ObjectID, key: ObjectKey)] = []
        for object in rows.keys where object.classIndex == query.classIndex {
            guard let row = try source.row(object), try evaluator.matches(row, in: source) else { continue }
            let id = Identity(className: query.className, key: row.key).objectID
            results.append((try evaluator.sortValues(of: row, in: source), id, row.key))
        }
        return query.results(among: results, values: \.values, id: \.id).map(\.key)
    }

    // MARK: SQL's answer

    /// Makes a database with every object of this world, and with a ghost or a tombstone for each link that leads
    /// nowhere.
    func database() throws -> TestDatabase {
        if let known { return known }
        let database = try TestDatabase()
        for declared in schema.classes { try createTables(declared, in: database) }
        for object in rows.keys.sorted() { ids[object] = Int64(ids.count + 1) }
        for object in rows.keys.sorted() { try write(object, in: database) }
        known = database
        return database
    }

    func keys(_ rowIDs: [Int64], ofClass classIndex: Int) -> [ObjectKey] {
        let byID = Dictionary(uniqueKeysWithValues: ids.map { ($0.value, $0.key.key) })
        return rowIDs.compactMap { byID[$0] }
    }

    /// The local row ids of the objects of a class.
    func rowIDs(ofClass classIndex: Int) -> [Int64] {
        rows.keys.filter { $0.classIndex == classIndex }.compactMap { ids[$0] }.sorted()
    }

    /// The values of a query's position paths for each match, as SQL finds them.
    func positions(of query: Query) throws -> [[Value]] {
        let compiler = SQLCompiler(schema: schema, now: now)
        let database = try database()
        let keys = Dictionary(uniqueKeysWithValues: ids.map { ($0.value, $0.key.key) })
        return try database.bindings(compiler.select(query, .positions, order: .any)).map { row in
            try zip(query.positionPaths, row).map { path, binding in
                guard case .scalar(let type) = path.type else {
                    if case .integer(let id) = binding { return .link(try #require(keys[id])) }
                    return .null
                }
                return try #require(binding == .null ? .null : binding.value(of: type))
            }
        }
    }

    private func createTables(_ declared: ClassSchema, in database: TestDatabase) throws {
        var columns = ["_row INTEGER PRIMARY KEY", "_state INTEGER", "_version INTEGER", "_absent BLOB"]
        if declared.primaryKey == nil { columns += ["_hi INTEGER", "_lo INTEGER", "UNIQUE(_hi, _lo)"] }
        for property in declared.properties {
            let type = TableLayout.columnType(property.type.element)
            guard property.type.isCollection else {
                let unique = property.name == declared.primaryKey ? " UNIQUE" : ""
                columns.insert("\(layout.column(property.name)) \(type)\(unique)", at: 1)
                continue
            }
            let place = property.type.container == .map ? "key TEXT" : "position INTEGER"
            let primary = property.type.container == .map ? "key" : "position"
            let table = layout.table(declared.name, collection: property.name)
            try database.execute(
                """
                CREATE TABLE \(sql: table)(owner INTEGER, \(sql: place), value \(sql: type), \
                PRIMARY KEY(owner, \(sql: primary))) WITHOUT ROWID
                """)
        }
        try database.execute(
            "CREATE TABLE \(sql: layout.table(declared.name))(\(sql: columns.joined(separator: ", ")))")
    }

    private func write(_ object: ObjectRef, in database: TestDatabase) throws {
        guard let row = rows[object], let id = ids[object] else { return }
        let declared = schema[object.classIndex]
        try insertRow(object, id, state: 1, in: database)
        for (index, property) in declared.properties.enumerated() {
            func binding(_ value: Value) throws -> SQLBinding {
                guard case .link(let key) = value, let target = property.type.targetClass else {
                    return try #require(SQLBinding(value))
                }
                return .integer(try self.id(of: ObjectRef(try #require(schema.index(of: target)), key), in: database))
            }
            let table = layout.table(declared.name, collection: property.name)
            switch row.values[index] {
            case .list(let elements), .set(let elements):
                for (index, element) in try elements.map(binding).enumerated() {
                    // Numbers ascend; between the elements of edited lists there are gaps.
                    let position = id.isMultiple(of: 2) ? Int64(index) : (Int64(index) - 1) << 20
                    try database.execute(
                        """
                        INSERT INTO \(sql: table) VALUES (\(.integer(id)), \(.integer(position)), \
                        \(element))
                        """)
                }
            case .map(let map):
                for entry in map.entries {
                    let element = try binding(entry.value)
                    try database.execute(
                        "INSERT INTO \(sql: table) VALUES (\(.integer(id)), \(.text(entry.key)), \(element))")
                }
            case let value where index != declared.primaryKeyIndex:
                let single = try binding(value)
                try database.execute(
                    """
                    UPDATE \(sql: layout.table(declared.name)) SET \(sql: layout.column(property.name)) = \
                    \(single) WHERE _row = \(.integer(id))
                    """)
            default: break
            }
        }
    }

    private func insertRow(_ object: ObjectRef, _ id: Int64, state: Int64, in database: TestDatabase) throws {
        let declared = schema[object.classIndex]
        let table = layout.table(declared.name)
        let head: SQLStatement = "\(.integer(id)), \(.integer(state))"
        if let primaryKey = declared.primaryKey {
            let key = try #require(SQLBinding(object.key.value))
            try database.execute(
                "INSERT INTO \(sql: table)(_row, _state, \(sql: layout.column(primaryKey))) VALUES (\(head), \(key))")
        } else if case .id(let objectID) = object.key {
            try database.execute(
                """
                INSERT INTO \(sql: table)(_row, _state, _hi, _lo) VALUES (\(head), \
                \(.integer(TableLayout.word(objectID.high))), \(.integer(TableLayout.word(objectID.low))))
                """)
        }
    }

    /// The row id of an object; for an absent object, that of a new ghost or tombstone.
    private func id(of object: ObjectRef, in database: TestDatabase) throws -> Int64 {
        if let id = ids[object] { return id }
        let id = Int64(ids.count + 1)
        ids[object] = id
        let state = id % 3 == 0 ? TableLayout.State.tombstone : TableLayout.State.ghost
        try insertRow(object, id, state: state, in: database)
        return id
    }
}
