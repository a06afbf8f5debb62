internal import SluiceModel

/// Reads the log of a database beside its writer, as it was when the reading began.
final class JournalTail {
    let databaseID: ObjectID
    /// The last group.
    let head: ArchivedHead
    private let connection: SQLiteConnection

    /// - Parameter path: the database's file.
    init(_ path: String) throws {
        connection = try SQLiteConnection(path: try DatabasePath.resolve(path).file, access: .read)
        try connection.beginReading()
        databaseID = try SQLiteServerStorage.databaseID(connection)
        head = try Self.group("ORDER BY position DESC LIMIT 1", connection) ?? ArchivedHead(of: databaseID)
    }

    deinit {
        connection.rollback()
        connection.close()
    }

    /// A group of the log; nil if the log does not have it.
    func group(at position: UInt64) throws -> ArchivedHead? {
        guard position > 0 else { return try first().head.position == 0 ? ArchivedHead(of: databaseID) : nil }
        return try Self.group("WHERE position = \(position)", connection)
    }

    /// The state with which the log begins: before the first group, or after the first that it has.
    func first() throws -> ArchivedHead {
        guard let first = try Self.group("ORDER BY position LIMIT 1", connection), first.head.position > 1 else {
            return ArchivedHead(of: databaseID)
        }
        return first
    }

    /// Whether the log goes on after a group: it has it, or the one after it.
    func continues(_ head: JournalHead) throws -> Bool {
        if let known = try group(at: head.position) { return known.head == head }
        var next: JournalRecord?
        try forEach(after: head.position) { record, _ in
            next = record
            return false
        }
        return next.map { head.following($0.bytes) == $0.head } ?? false
    }

    /// Calls `body` with the groups after a position, until it returns false.
    func forEach(after position: UInt64, _ body: (JournalRecord, ArchivedHead) throws -> Bool) throws {
        let sql = """
            SELECT position, version, accepted, chain, record FROM _journal WHERE position > ? ORDER BY position
            """
        try connection.withStatement(sql) { statement in
            statement.bind(1, Int64(clamping: position))
            while try statement.step() {
                let group = Self.group(statement)
                guard try body(JournalRecord(head: group.head, bytes: statement.blob(4)), group) else { return }
            }
        }
    }

    private static func group(_ condition: String, _ connection: SQLiteConnection) throws -> ArchivedHead? {
        let sql = "SELECT position, version, accepted, chain FROM _journal \(condition)"
        return try connection.withStatement(sql) { try $0.step() ? group($0) : nil }
    }

    private static func group(_ statement: Statement) -> ArchivedHead {
        ArchivedHead(
            head: JournalHead(position: UInt64(clamping: statement.int(0)), chain: statement.blob(3)),
            version: UInt64(clamping: statement.int(1)), acceptedAt: Timestamp(microseconds: statement.int(2)))
    }
}
