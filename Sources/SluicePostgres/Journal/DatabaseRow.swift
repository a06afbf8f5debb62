#if PostgreSQL

internal import SluiceModel

/// The row of a database in `sluice.database`.
struct DatabaseRow {
    /// What `history` says of a database that is not served as part of the cluster. No server's history is like that.
    enum Phase: String {
        /// Its file is being stored.
        case adopting
        /// Its journal begins after a file that was stored. The next group begins an epoch.
        case adopted
        /// Nobody appends to it any more.
        case sealed
    }

    let id: Int64
    let identity: ObjectID
    /// Nil while the database is served.
    let phase: Phase?

    /// The row of a database; nil if there is none.
    static func find(_ name: String, _ connection: PostgresConnection) throws(PostgresFailure) -> DatabaseRow? {
        let found = try connection.execute(JournalStatements.find, .text(name))
        guard found.rowCount == 1 else { return nil }
        let identity = found.bytes(1)
        guard identity.count == 16 else { throw .unsuitable("has a database without an identity of 16 bytes") }
        let words = [identity[..<8], identity[8...]].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        return DatabaseRow(
            id: found.integer(0), identity: ObjectID(high: words[0], low: words[1]),
            phase: Phase(rawValue: found.text(2)))
    }

    /// An id as the column `identity` has it.
    static func bytes(_ id: ObjectID) -> [UInt8] {
        [id.high, id.low].flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
    }
}

#endif
