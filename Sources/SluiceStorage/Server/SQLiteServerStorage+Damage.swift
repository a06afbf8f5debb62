extension SQLiteServerStorage {
    /// Where the damage is remembered; nil in memory.
    var damageRecord: DamageRecord? { connection.path.map { DamageRecord(besides: $0) } }

    /// Remembers that the database is damaged. Outside a transaction.
    ///
    /// - Parameter error: an error of damage, see ``StorageError/isOfDamage``.
    package func note(damage error: StorageError) {
        guard damage == nil else { return }
        damage = error
        damageRecord?.write(error.damage)
    }

    /// Takes note of damage that was met before the database was opened, unless the file is whole now. What SQLite does
    /// not see, in the form of what we store, counts until the file is another one.
    func recallDamage() {
        guard let record = damageRecord else { return }
        if let error = damage {
            damage = error
            return record.write(error.damage)
        }
        guard let reason = record.read() else { return }
        guard record.isOfAnotherState || reason.hasPrefix("SQLite"), isWhole() else {
            damage = .damaged(connection.name, reason)
            return
        }
        record.remove()
    }

    /// Reads everything and looks whether it fits together. O(n log n) in the size of the file.
    private func isWhole() -> Bool {
        let answer = try? connection.withStatement("PRAGMA integrity_check(1)") { statement in
            try statement.step() ? statement.string(0) : ""
        }
        return answer == "ok"
    }
}
