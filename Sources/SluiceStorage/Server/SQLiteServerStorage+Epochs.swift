internal import SluiceModel

extension SQLiteServerStorage {
    /// The most epochs kept. A client that was last connected in an earlier one begins anew.
    private static let epochCountMax = 65_536

    /// The epoch that the next version belongs to. A new one begins with each start of a server and each change of history, so that a version
    /// that was undone by restoring a backup can be told from the later version of the same number.
    package var epoch: UInt64 { epochs.last?.id ?? 0 }

    /// Begins a new epoch after ``version``.
    ///
    /// - Parameter id: a number chosen at random.
    package func beginEpoch(_ id: UInt64) throws { try perform(.epoch(id)) }

    func storeEpoch(_ id: UInt64) throws {
        try connection.withStatement("INSERT INTO _epochs (id, start) VALUES (?, ?)") { statement in
            statement.bind(1, Int64(bitPattern: id))
            statement.bind(2, Int64(version))
            try statement.run()
        }
        epochs.append(Epoch(id: id, start: version))
        guard epochs.count > Self.epochCountMax else { return }
        epochs.removeFirst()
        try connection.execute("DELETE FROM _epochs WHERE number = (SELECT min(number) FROM _epochs)")
    }

    /// Whether a version that a client reached in an epoch is part of this history. False for an epoch that is no
    /// longer stored.
    package func reaches(_ version: UInt64, inEpoch id: UInt64) -> Bool {
        guard let position = epochs.lastIndex(where: { $0.id == id }) else { return false }
        let next = epochs.index(after: position)
        return version <= (next < epochs.endIndex ? epochs[next].start : self.version)
    }

    func storedEpochs() throws -> [Epoch] {
        try connection.withStatement("SELECT id, start FROM _epochs ORDER BY number") { statement in
            var epochs: [Epoch] = []
            while try statement.step() {
                epochs.append(
                    Epoch(id: UInt64(bitPattern: statement.int(0)), start: UInt64(clamping: statement.int(1))))
            }
            return epochs
        }
    }

    static func makeEpochs(on connection: SQLiteConnection) throws {
        try connection.execute(
            "CREATE TABLE _epochs (number INTEGER PRIMARY KEY, id INTEGER NOT NULL, start INTEGER NOT NULL)")
        try connection.execute("INSERT INTO _epochs (id, start) VALUES (1, 0)")
    }
}
