internal import SluiceModel
internal import SluiceWire

/// A digest of all that the journal makes of a database: objects and tombstones, clients and their rejections, epochs,
/// schema, rules, and where the log begins and ends. Replicas at one position have the same digest.
///
/// What replicas may store otherwise does not count: the order of rows, their local numbers, indexes. Each row has a
/// SHA-256 over its cells, with the objects that it links to by their keys, and the digest is made of the sums of the
/// rows of each table (AdHash: Bellare and Micciancio, "A New Paradigm for Collision-Free Hashing", EUROCRYPT 1997). It
/// finds faults and no forgers: whoever can write a replica can make a sum.
struct StateDigest {
    private let connection: SQLiteConnection
    private let schema: Schema
    private let layout = TableLayout()
    private let isCancelled: () -> Bool
    private var rowCount = 0
    private var content: [UInt8] = []

    /// Computes the digest. O(n) for the rows.
    ///
    /// - Throws: ``StorageError``; with the code ``StorageError/Code/cancelled`` if `isCancelled` says so, which is asked
    ///   every thousand rows.
    static func compute(
        _ connection: SQLiteConnection, schema: Schema, isCancelled: () -> Bool
    ) throws -> [UInt8] {
        try withoutActuallyEscaping(isCancelled) { isCancelled in
            var digest = StateDigest(connection: connection, schema: schema, isCancelled: isCancelled)
            try digest.addAll()
            return SHA256.digest(digest.content)
        }
    }

    private init(connection: SQLiteConnection, schema: Schema, isCancelled: @escaping () -> Bool) {
        self.connection = connection
        self.schema = schema
        self.isCancelled = isCancelled
    }

    private mutating func addAll() throws {
        let own = [
            "SELECT name, value FROM _meta",
            "SELECT id, user, nonce, sequence, version, created, seen FROM _clients",
            "SELECT client, sequence, rejection FROM _rejections", "SELECT id, start FROM _epochs",
            "SELECT space, name, due, value FROM _jobs",
            "SELECT position, version, accepted, chain FROM _journal ORDER BY position DESC LIMIT 1",
        ]
        for sql in own { try add(sql) }
        for declared in schema.classes where !declared.isRetired {
            try add(objects(of: declared))
            try add(deletions(of: declared))
            for property in declared.properties where property.type.isCollection && !property.isRetired {
                try addElements(of: property, declared)
            }
        }
    }

    // MARK: The statements

    private func objects(of declared: ClassSchema) -> String {
        let singles = declared.properties.filter {
            !$0.type.isCollection && !$0.isRetired && $0.name != declared.primaryKey
        }
        let columns = singles.flatMap { value($0.type.element, "o." + layout.column($0.name)) }
        let own = ["o.\(TableLayout.version)", "o.\(TableLayout.absent)", "o._incarnation"]
        return """
            SELECT \((key(of: declared, "o") + own + columns).joined(separator: ", ")) \
            FROM \(layout.table(declared.name)) AS o WHERE o.\(TableLayout.state) = \(TableLayout.State.present)
            """
    }

    /// Deleted objects, and ghosts that were objects once.
    private func deletions(of declared: ClassSchema) -> String {
        let columns = key(of: declared, "o") + ["o.\(TableLayout.version)", "o._incarnation"]
        return """
            SELECT \(columns.joined(separator: ", ")) FROM \(layout.table(declared.name)) AS o \
            WHERE o.\(TableLayout.state) = \(TableLayout.State.tombstone) \
            OR o.\(TableLayout.state) = \(TableLayout.State.ghost) AND o._incarnation > 0
            """
    }

    /// Adds what a collection has. Where elements have an order, only that counts, and not the numbers that make it.
    private mutating func addElements(of property: Property, _ declared: ClassSchema) throws {
        let isMap = property.type.container == .map
        let order = isMap ? TableLayout.key : TableLayout.position
        var columns = value(property.type.element, "c.\(TableLayout.value)") + key(of: declared, "o")
        if isMap { columns.append("c.\(TableLayout.key)") }
        try add(
            """
            SELECT \(columns.joined(separator: ", ")), c.\(TableLayout.owner) \
            FROM \(layout.table(declared.name, collection: property.name)) AS c \
            JOIN \(layout.table(declared.name)) AS o ON o.\(TableLayout.row) = c.\(TableLayout.owner) \
            ORDER BY c.\(TableLayout.owner), c.\(order)
            """, groupedBy: Int32(columns.count))
        if property.type.container == .list { try addIdentities(of: property, declared) }
    }

    /// Adds the identity of each list that was edited. How its rows store it depends on how it came about.
    private mutating func addIdentities(of property: Property, _ declared: ClassSchema) throws {
        let key = key(of: declared, "o")
        let sql = """
            SELECT \(key.joined(separator: ", ")), c.\(TableLayout.owner), c.\(TableLayout.identity) \
            FROM \(layout.table(declared.name, collection: property.name)) AS c \
            JOIN \(layout.table(declared.name)) AS o ON o.\(TableLayout.row) = c.\(TableLayout.owner) \
            ORDER BY c.\(TableLayout.owner), c.\(TableLayout.position)
            """
        var sum = RowSum()
        try connection.withStatement(sql) { statement in
            let owner = Int32(key.count)
            var list: (owner: Int64, key: [UInt8], stored: StoredIdentity)?
            func addList() {
                guard let list, let identity = list.stored.identity else { return }
                sum.add(SHA256.digest(list.key + identity.wireBytes()))
            }
            while try statement.step() {
                if list?.owner != statement.int(owner) {
                    addList()
                    var bytes: [UInt8] = []
                    for column in 0..<owner { statement.appendCell(column, to: &bytes) }
                    list = (statement.int(owner), bytes, StoredIdentity())
                }
                list?.stored.add(statement.isNull(owner + 1) ? nil : Array(statement.bytes(owner + 1)))
                try countRow()
            }
            addList()
        }
        add(sum)
    }

    /// The columns of an object's key.
    private func key(of declared: ClassSchema, _ alias: String) -> [String] {
        let columns = declared.primaryKey.map { [layout.column($0)] } ?? [TableLayout.high, TableLayout.low]
        return columns.map { "\(alias).\($0)" }
    }

    /// The columns of a value: of a link, those of the target's key.
    private func value(_ element: PropertyType.Element, _ column: String) -> [String] {
        guard case .link(let name) = element, let index = schema.index(of: name) else { return [column] }
        let target = schema[index]
        return key(of: target, "t").map {
            "(SELECT \($0) FROM \(layout.table(name)) AS t WHERE t.\(TableLayout.row) = \(column))"
        }
    }

    // MARK: Rows

    /// Adds the sum of the rows of a statement, and their number.
    ///
    /// - Parameter group: a column that is not of the row; rows in which it is the same, one after the other, are counted
    ///   and have their number in their hash.
    private mutating func add(_ sql: String, groupedBy group: Int32? = nil) throws {
        var sum = RowSum()
        try connection.withStatement(sql) { statement in
            let count = group ?? statement.columnCount
            var bytes: [UInt8] = []
            var last: Int64?
            var number: Int64 = 0
            while try statement.step() {
                bytes.removeAll(keepingCapacity: true)
                if let group {
                    let value = statement.int(group)
                    number = value == last ? number + 1 : 0
                    last = value
                    Self.append(UInt64(bitPattern: number), to: &bytes)
                }
                for column in 0..<count { statement.appendCell(column, to: &bytes) }
                sum.add(SHA256.digest(bytes))
                try countRow()
            }
        }
        add(sum)
    }

    /// Asks every thousand rows whether the digest is still wanted.
    private mutating func countRow() throws(StorageError) {
        rowCount += 1
        guard rowCount % 1_000 == 0, isCancelled() else { return }
        throw StorageError(.cancelled, "\(connection.name): its digest is not wanted any more")
    }

    private mutating func add(_ sum: RowSum) {
        for word in sum.words + [sum.count] { Self.append(word, to: &content) }
    }

    private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
    }
}

/// The sum of the hashes of rows, in four lanes.
private struct RowSum {
    private(set) var words: [UInt64] = [0, 0, 0, 0]
    private(set) var count: UInt64 = 0

    mutating func add(_ hash: [UInt8]) {
        count += 1
        for lane in 0..<4 {
            let word = hash[(8 * lane)..<(8 * lane + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            words[lane] &+= word
        }
    }
}

extension Statement {
    /// Appends a cell with its type and length, so that no two rows have the same bytes.
    fileprivate func appendCell(_ column: Int32, to bytes: inout [UInt8]) {
        func append(_ tag: UInt8, _ word: UInt64) {
            bytes.append(tag)
            withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
        }
        if isNull(column) { return bytes.append(0) }
        if isInteger(column) { return append(1, UInt64(bitPattern: int(column))) }
        if isText(column) || isBlob(column) {
            append(isText(column) ? 2 : 3, UInt64(self.bytes(column).count))
            return bytes.append(contentsOf: self.bytes(column))
        }
        append(4, double(column).bitPattern)
    }
}

extension SQLiteServerStorage {
    /// The digest of the present state, see ``ServerSnapshot/digest(isCancelled:)``. Outside a transaction.
    package func digest(isCancelled: () -> Bool) throws -> [UInt8] {
        try StateDigest.compute(connection, schema: schema, isCancelled: isCancelled)
    }

    /// Appends a step at which other servers compute the digests of their replicas too.
    package func beginComparison() throws { try perform(.comparison) }
}
