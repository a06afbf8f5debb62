package import SluiceModel

extension SQLiteClientStorage {
    /// When objects that no subscription has held, not even a dormant one, were found to be cached.
    package var cachedSince: [ObjectRef: Timestamp] {
        get throws {
            var times: [ObjectRef: Timestamp] = [:]
            try connection.withStatement("SELECT class, key, since FROM _cached") { statement in
                while try statement.step() {
                    let object = try statement.object(0, in: schema, file: connection.name)
                    times[object] = Timestamp(
                        microseconds: try statement.number(
                            2, in: StoredNumber.times, file: connection.name, what: "the time of a cached object"))
                }
            }
            return times
        }
    }

    /// Stores that time, or with nil removes it.
    package func setCachedSince(_ time: Timestamp?, of object: ObjectRef) throws {
        try requireTransaction()
        guard let time else {
            return try connection.withStatement("DELETE FROM _cached WHERE class = ? AND key = ?") { statement in
                statement.bind(1, object)
                try statement.run()
            }
        }
        let sql = "INSERT OR REPLACE INTO _cached (class, key, since) VALUES (?, ?, ?)"
        try connection.withStatement(sql) { statement in
            statement.bind(1, object)
            statement.bind(3, time.microseconds)
            try statement.run()
        }
    }
}
