internal import Glibc
internal import SluiceModel

/// What a server's database has, read from its file, beside its writer if it is open.
package struct DatabaseGlance: Sendable, Hashable {
    package var version: UInt64
    /// How often rules were stored; 0 for a database without rules.
    package var rulesVersion: Int
    package var classCount: Int
    package var objectCount: Int
    /// The size of the file and its write-ahead log.
    package var byteCount: Int

    /// - Complexity: O(n) for the objects, which are counted.
    /// - Throws: ``StorageError`` when the file cannot be read, or is no database of a server.
    package init(at path: String) throws {
        let resolved = try DatabasePath.resolve(path)
        guard let header = try DatabaseHeader(path: resolved.file) else {
            throw StorageError(.notADatabase, "\(path) is missing or empty")
        }
        try header.check(.server, path: path)
        byteCount = [resolved.file, resolved.writeAheadLog].reduce(0) { sum, file in
            var status = stat()
            return stat(file, &status) == 0 ? sum + Int(status.st_size) : sum
        }
        let canWrite = access(resolved.file, W_OK) == 0
        let connection = try SQLiteConnection(
            path: resolved.file, access: canWrite ? .read : .readAlone(hasLog: resolved.hasLoggedCommits))
        defer { connection.close() }
        try connection.begin()
        defer { connection.rollback() }
        let meta = MetaTable(connection)
        rulesVersion = Int(try meta.integer("rules") ?? 0)
        let start = UInt64(try meta.integer("logStart") ?? 0)
        version = try SQLiteServerStorage.LogState(connection, databaseID: ObjectID(high: 0, low: 0), start: start)
            .version
        let classes = try meta.schema(file: connection.name).classes.filter { !$0.isRetired }
        classCount = classes.count
        let layout = TableLayout()
        objectCount = try classes.reduce(0) { sum, declared in
            let sql = """
                SELECT count(*) FROM \(layout.table(declared.name)) \
                WHERE \(TableLayout.state) = \(TableLayout.State.present)
                """
            return sum + Int(try connection.integer(sql) ?? 0)
        }
    }
}
