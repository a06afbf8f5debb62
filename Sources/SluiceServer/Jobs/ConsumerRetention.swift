package import SluiceStorage
package import SluiceWire

/// Keeps the log for consumers that have not handled it yet, up to a limit, and warns before that is reached.
final class ConsumerRetention {
    private let database: Database
    /// Of which consumers was warned.
    private var warned: Set<String> = []
    private static let consumerCountMax = 10_000

    init(_ database: Database) { self.database = database }

    /// The version after which the log is to be kept; nil if consumers need nothing of it, or have lost their right to it.
    func pin(in storage: SQLiteServerStorage, _ limits: DatabaseLimits) throws -> UInt64? {
        var pin: UInt64?
        var behind: [String: UInt64] = [:]
        for (name, state) in try ConsumerState.all(in: storage).prefix(Self.consumerCountMax) {
            guard let version = state.checkpoint?.version, version >= storage.logStart else { continue }
            behind[name] = version
            pin = min(pin ?? version, version)
        }
        let byteCount = storage.logByteCount
        guard byteCount > limits.consumerLogByteCount / 2 else {
            warned = []
            return pin
        }
        let isOver = byteCount > limits.consumerLogByteCount
        for (name, version) in behind.sorted(by: { $0.key < $1.key }) where warned.insert(name).inserted {
            database.note(
                .warning,
                isOver
                    ? "a consumer is so far behind that the log is no longer kept for it: it will begin anew"
                    : "a consumer keeps more than half of the log that may be kept for consumers",
                [
                    ("consumer", name), ("behind", "\(storage.version - min(version, storage.version))"),
                    ("log", "\(byteCount)"), ("limit", "\(limits.consumerLogByteCount)"),
                ])
        }
        return isOver ? nil : pin
    }
}

extension ConsumerState {
    /// The consumers of a database, by name. One that a newer version has written is left out.
    package static func all(in records: SQLiteServerStorage) throws -> [(name: String, state: ConsumerState)] {
        try records.jobSpaces(withPrefix: prefix).compactMap { space in
            guard let record = try records.job(.init(space: space)), let state = try? ConsumerState(record) else {
                return nil
            }
            return (String(space.dropFirst(prefix.count)), state)
        }
    }
}
