internal import FoundationEssentials
internal import SluiceModel
internal import SluiceQuery

/// The table of one class: its columns, its statements, and caches of its keys and local row ids.
final class ClassTable {
    /// Where a property is stored.
    struct Column {
        let property: Int
        let codec: ColumnCodec
        /// The quoted name of its column, or of its table.
        let name: String
        /// Whether it is the table of a list, which has room for the identity of elements.
        var isList = false

        var field: Field { Field(property: property, codec: codec) }
    }

    /// What reading and binding need of a column, without references, so that going through many counts none.
    struct Field {
        let property: Int
        let codec: ColumnCodec
    }

    /// Where a statement has a property.
    struct Cell {
        let codec: ColumnCodec
        let column: Int32
    }

    /// The position of the class.
    let index: Int
    let schema: ClassSchema
    let keyType: ScalarType
    let name: String
    /// The properties with a column, in schema order.
    let singles: [Column]
    /// The same, as ``Field``s.
    let fields: [Field]
    /// Where ``rowColumns(alias:)`` have each property; nil for those without a column.
    let cells: [Cell?]
    /// Where ``rowColumns(alias:)`` have the key, or its first half.
    let keyCell: Int32
    /// Whether some properties are stored no more.
    let hasRetired: Bool
    /// The properties with a table of their own.
    let collections: [Column]
    /// The columns that hold the key, as SQL: `p_vin`, or `_hi, _lo`.
    let keyColumns: [String]
    /// Whether the class has an index of its objects' ids.
    var hasIDIndex = false
    /// Whether most rows of the last page were of objects that are here, so that the next are looked up first.
    var expectsPresent = false
    /// Whether rows link to other objects in columns of their own.
    let hasLinks: Bool
    /// Keys that no row has.
    var absentKeys = AbsentKeys()
    /// The row whose lists were edited last, as it is stored.
    var held: HeldRow?
    /// New rows that wait; made when it is first needed.
    var insertBuffer: InsertBuffer?
    /// The next local row id. No id is used twice while a store is open, so that caches by id stay right. An error
    /// where the end of the table is damaged: its other rows can still be read.
    private var nextRow: Result<Int64, StorageError>

    private let connection: SQLiteConnection
    private var statements: [Purpose: Statement] = [:]
    private var rowsByKey: [ObjectKey: Int64] = [:]
    private var keysByRow: [Int64: ObjectKey] = [:]
    private static let cacheCountMax = 400_000
    /// The present object that was inserted or read last, so that a write right after that need not look for it.
    private var recent: (key: ObjectKey, row: Int64)?
    /// The statement that inserts a row. It is kept apart from the others, since every new row runs it.
    private var insertion: Statement?

    init(index: Int, schema: Schema, connection: SQLiteConnection) throws {
        let layout = TableLayout()
        let declared = schema[index]
        self.index = index
        self.schema = declared
        keyType = declared.keyType
        self.connection = connection
        name = layout.table(declared.name)
        var singles: [Column] = []
        var collections: [Column] = []
        for (position, property) in declared.properties.enumerated() where !property.isRetired {
            let codec = ColumnCodec(property.type.element, schema: schema)
            if property.type.isCollection {
                let name = layout.table(declared.name, collection: property.name)
                let isList = property.type.container == .list
                collections.append(Column(property: position, codec: codec, name: name, isList: isList))
            } else {
                singles.append(Column(property: position, codec: codec, name: layout.column(property.name)))
            }
        }
        self.singles = singles
        fields = singles.map(\.field)
        var cells = [Cell?](repeating: nil, count: declared.properties.count)
        // Behind row id, version, absent and the keyless key.
        let first: Int32 = declared.primaryKey == nil ? 5 : 3
        for (column, single) in singles.enumerated() {
            cells[single.property] = Cell(codec: single.codec, column: first + Int32(column))
        }
        self.cells = cells
        keyCell = declared.primaryKeyIndex.flatMap { cells[$0]?.column } ?? 3
        hasLinks = singles.contains { if case .link = $0.codec { true } else { false } }
        self.collections = collections
        hasRetired = singles.count + collections.count < declared.properties.count
        keyColumns = declared.primaryKey.map { [layout.column($0)] } ?? [TableLayout.high, TableLayout.low]
        do {
            let last = try connection.integer("SELECT max(\(TableLayout.row)) FROM \(name)") ?? 0
            // What is damaged may say anything.
            nextRow =
                StoredNumber.counts.contains(last)
                ? .success(1 + last) : .failure(Self.damaged(declared.name, connection))
        } catch let error as StorageError where error.isOfDamage {
            nextRow = .failure(error)
        }
        try recover()
    }

    /// Empties the cache of local row ids, and looks up again whether there is an index of ids. Call it when rows may
    /// have gone, as after a rollback.
    func recover() throws {
        forgetRows()
        let name = Self.idIndexName(schema.name)
        hasIDIndex = try connection.integer("SELECT 1 FROM sqlite_master WHERE name = '\(name)'") != nil
    }

    var isKeyed: Bool { schema.primaryKey != nil }

    /// The condition that selects by key, with a parameter for each key column.
    var keyCondition: String { keyColumns.map { "\($0) = ?" }.joined(separator: " AND ") }

    /// The name of the table that maps ids to local row ids.
    static func idIndexName(_ className: String) -> String { "i_" + className }

    var idIndex: String { TableLayout.quoted(Self.idIndexName(schema.name)) }

    // MARK: Statements

    enum Purpose: Hashable {
        case revive, find, rowByKey, keyByRow, versionByRow, insertGhost, insertUnknown, findAll, findRows
        case allInOrder, rowsInOrder
        case insertBuffered, keyAbove
        case update(PropertySet), updateTogether(PropertySet)
        case insertElement(Int), deleteElements(Int), elements(Int), insertID, deleteID
        case setElement(Int), setElementIdentity(Int), deleteElement(Int)
    }

    /// The prepared statement for a purpose; `sql` is called once.
    func statement(_ purpose: Purpose, _ sql: () -> String) throws(StorageError) -> Statement {
        if let statement = statements[purpose] { return statement }
        if statements.count >= 128 { statements.removeAll() }
        let statement = try connection.prepare(sql())
        statements[purpose] = statement
        return statement
    }

    /// The prepared statement that inserts a row; `sql` is called once.
    func insertion(_ sql: () -> String) throws(StorageError) -> Statement {
        if let insertion { return insertion }
        let statement = try connection.prepare(sql())
        insertion = statement
        return statement
    }

    /// The columns that ``ObjectTables`` reads rows by, in this order: row id, version, absent, the keyless key,
    /// values.
    func rowColumns(alias: String? = nil) -> [String] {
        let key = isKeyed ? [] : keyColumns
        let names = [TableLayout.row, TableLayout.version, TableLayout.absent] + key + singles.map(\.name)
        return alias.map { alias in names.map { "\(alias).\($0)" } } ?? names
    }

    // MARK: Keys

    func bind(_ key: ObjectKey, from index: Int32 = 1, to statement: some ParameterSink) throws(StorageError) {
        guard key.isOf(keyType) else {
            throw StorageError(.misuse, "\(schema.name) is identified by \(keyType.rawValue), not by such a key")
        }
        switch key {
        case .id(let id):
            statement.bind(index, TableLayout.word(id.high))
            statement.bind(index + 1, TableLayout.word(id.low))
        case .int(let key): statement.bind(index, key)
        case .string(let key): statement.bind(index, key)
        case .uuid(let key): withUnsafeBytes(of: key.uuid) { statement.bindBytes(index, $0) }
        }
    }

    /// Reads a key from the key columns.
    func key(of statement: Statement, from column: Int32) throws(StorageError) -> ObjectKey {
        switch keyType {
        case .int: return .int(statement.int(column))
        case .string: return .string(statement.string(column))
        case .uuid:
            guard case .uuid(let key)? = ColumnCodec.scalar(.uuid).read(column, of: statement) else { throw damaged() }
            return .uuid(key)
        default:
            return .id(
                ObjectID(
                    high: TableLayout.unsigned(statement.int(column)),
                    low: TableLayout.unsigned(statement.int(column + 1))))
        }
    }

    func damaged() -> StorageError { Self.damaged(schema.name, connection) }

    private static func damaged(_ className: String, _ connection: SQLiteConnection) -> StorageError {
        .damaged(connection.name, "a row of \(className) cannot be read")
    }

    /// At most how many rows the table has.
    var rowCountMax: Int { get throws(StorageError) { Int(clamping: try nextRow.get() - 1) } }

    /// Draws the local row id of a new object.
    func takeRow() throws(StorageError) -> Int64 {
        let row = try nextRow.get()
        nextRow = .success(row + 1)
        return row
    }

    /// Draws consecutive local row ids, and returns the first.
    func takeRows(_ count: Int) throws(StorageError) -> Int64 {
        let row = try nextRow.get()
        nextRow = .success(row + Int64(count))
        return row
    }

    func cachedRow(of key: ObjectKey) -> Int64? { rowsByKey[key] }

    func cachedKey(of row: Int64) -> ObjectKey? { keysByRow[row] }

    func remember(_ key: ObjectKey, row: Int64) {
        if rowsByKey.count >= Self.cacheCountMax { rowsByKey.removeAll(keepingCapacity: true) }
        rowsByKey[key] = row
    }

    func remember(row: Int64, key: ObjectKey) {
        if keysByRow.count >= Self.cacheCountMax { keysByRow.removeAll(keepingCapacity: true) }
        keysByRow[row] = key
    }

    /// Notes the row of a present object that was inserted or read.
    func noteRecent(_ key: ObjectKey, row: Int64) { recent = (key, row) }

    /// The local row id of an object if it was inserted or read last and is still present.
    func recentRow(of key: ObjectKey) -> Int64? {
        guard let recent, recent.key == key else { return nil }
        return recent.row
    }

    /// Forgets which object was inserted or read last, since a row lost its content.
    func forgetRecent() {
        recent = nil
        held = nil
    }

    /// Forgets an object whose row is deleted. Both caches must not grow with objects that come and go.
    func forget(_ key: ObjectKey, row: Int64) {
        rowsByKey[key] = nil
        keysByRow[row] = nil
    }

    /// How many keys and row ids are cached. Tests use it to see that those of deleted rows are not.
    var cachedCount: Int { rowsByKey.count + keysByRow.count }

    /// Forgets what is known of keys, which another connection may have changed.
    func forgetRows() {
        rowsByKey.removeAll()
        recent = nil
        held = nil
        absentKeys.forget()
    }
}
