/// Lines that come in any order, each under a name, and are read in the order of their places, in little memory however
/// many they are.
///
/// They are in a database of SQLite's own without a name, which is in memory as long as the cache has room, and else in
/// the system's folder for temporary files. It is gone with this.
package final class SortedLines {
    let connection: SQLiteConnection
    private let insertion: Statement
    private let moving: Statement
    private let removal: Statement
    private var reading: Statement?
    private var isAtEnd = false
    /// The bytes of all lines that came, also of those that others have replaced.
    package private(set) var byteCount = 0

    /// - Parameter cacheSize: the memory for lines, in bytes, and as much again while they are sorted.
    package init(cacheSize: Int = 2 << 20) throws(StorageError) {
        connection = try SQLiteConnection(location: "", name: "the lines of an answer")
        for setting in [
            "journal_mode = OFF", "synchronous = OFF", "temp_store = FILE", "cache_size = -\(cacheSize / 1_024)",
        ] { try connection.execute("PRAGMA \(setting)") }
        try connection.execute("CREATE TABLE lines(name TEXT NOT NULL UNIQUE, place TEXT NOT NULL, line BLOB NOT NULL)")
        try connection.execute("BEGIN")
        insertion = try connection.prepare(
            "INSERT INTO lines VALUES(?1, ?2, ?3) ON CONFLICT(name) DO UPDATE SET place = ?2, line = ?3")
        moving = try connection.prepare("UPDATE lines SET place = ?2 WHERE name = ?1")
        removal = try connection.prepare("DELETE FROM lines WHERE name = ?1")
    }

    /// Adds a line, in place of one with its name.
    ///
    /// - Parameter place: a text by whose bytes the lines are ordered.
    package func set(_ line: [UInt8], named name: String, at place: String) throws(StorageError) {
        byteCount += line.count
        insertion.bind(1, name)
        insertion.bind(2, place)
        insertion.bind(3, line)
        try insertion.run()
    }

    /// Gives a line another place, if it is there.
    package func move(_ name: String, to place: String) throws(StorageError) {
        moving.bind(1, name)
        moving.bind(2, place)
        try moving.run()
    }

    /// Removes a line, if it is there.
    package func remove(_ name: String) throws(StorageError) {
        removal.bind(1, name)
        try removal.run()
    }

    /// Reads on. No line may be added, moved or removed once this was called.
    ///
    /// - Parameter byteCount: how many bytes to read, or more by a part of a line; fewer only at the end.
    /// - Returns: the next lines in order, joined; nil after the last one.
    package func next(byteCount: Int) throws(StorageError) -> [UInt8]? {
        if reading == nil { reading = try connection.prepare("SELECT line FROM lines ORDER BY place") }
        var piece: [UInt8] = []
        while !isAtEnd, piece.count < byteCount {
            if let reading, try reading.step() { piece += reading.bytes(0) } else { isAtEnd = true }
        }
        return piece.isEmpty ? nil : piece
    }
}
