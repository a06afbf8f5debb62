internal import CSQLite

extension StorageError {
    /// What a result code of SQLite means.
    ///
    /// - Parameters:
    ///   - result: an extended result code.
    ///   - file: the database, as messages name it.
    ///   - detail: SQLite's own message; it names tables and columns, never contents.
    static func sqlite(_ result: Int32, file: String, detail: String) -> StorageError {
        func error(_ code: Code, _ text: String, damage: String = "") -> StorageError {
            StorageError(code, "\(file): \(text) (SQLite \(result): \(detail))", sqliteCode: result, damage: damage)
        }
        // SQLite's own message may quote what it found in the place of a declaration.
        var reason: String { "SQLite \(result): \(String(cString: sqlite3_errstr(result)))" }
        return switch result & 0xFF {
        case SQLITE_NOTADB:
            error(.notADatabase, "this is not a database; move it away or name another file", damage: reason)
        case SQLITE_CORRUPT:
            error(
                .damaged, "the database is damaged; restore it from a backup or remove it to start afresh",
                damage: reason)
        // The statements are made for the declarations that the file says it has.
        case SQLITE_ERROR where detail.hasPrefix("no such table") || detail.hasPrefix("no such column"):
            error(
                .damaged, "the database is damaged; restore it from a backup or remove it to start afresh",
                damage: "SQLite \(result): a table or column is missing")
        case SQLITE_BUSY, SQLITE_LOCKED:
            error(.busy, "another connection holds a lock; try again when it is done")
        case SQLITE_FULL:
            error(.full, "no space is left; free some and try again")
        case SQLITE_IOERR:
            error(.io, "the disk reported an error")
        case SQLITE_CANTOPEN where descriptorError != 0:
            .tooManyFiles(descriptorError, path: file)
        case SQLITE_CANTOPEN:
            error(.io, "the file cannot be opened; check that its folder exists and may be entered")
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            error(.readOnly, "the file or its folder may not be written")
        case SQLITE_CONSTRAINT:
            error(.constraint, "the write contradicts what is stored")
        case SQLITE_INTERRUPT:
            error(.interrupted, "the query was stopped")
        case SQLITE_ERROR:
            error(.unsupported, "the database does not take the statement")
        case SQLITE_TOOBIG, SQLITE_RANGE:
            error(.tooLarge, "a value is larger than a database can hold")
        default:
            error(.misuse, "an unexpected result")
        }
    }
}
