package import SluiceStorage
package import SluiceWire

/// Keeps the log for consumers that have not handled it yet, up to a limit for each, and warns before that is reached.
final class ConsumerRetention {
    /// What is said of a consumer.
    private enum Warning: Hashable {
        case half(String)
        case over(String)
    }

    private let database: Database
    /// What was said since all consumers needed little.
    private var said: Set<Warning> = []
    private static let consumerCountMax = 10_000

    init(_ database: Database) { self.database = database }

    /// The version after which the log is to be kept; nil if consumers need nothing of it, or have lost their right to it.
    /// O(consumers), and O(groups of the log) where that is longer than half of what may be kept.
    func pin(in storage: SQLiteServerStorage, _ limits: DatabaseLimits) throws -> UInt64? {
        var versions: [(name: String, version: UInt64)] = []
        for (name, state) in try ConsumerState.all(in: storage).prefix(Self.consumerCountMax) {
            guard let version = state.checkpoint?.version, version >= storage.logStart else { continue }
            versions.append((name, version))
        }
        let limit = limits.consumerLogByteCount
        guard storage.logByteCount > limit / 2 else {
            said = []
            return versions.map(\.version).min()
        }
        var pin: UInt64?
        let byteCounts = try storage.logByteCounts(after: Set(versions.map(\.version)))
        for (name, version) in versions.sorted(by: { $0.name < $1.name }) {
            let byteCount = byteCounts[version, default: 0]
            if byteCount <= limit { pin = min(pin ?? version, version) }
            guard byteCount > limit / 2 else {
                said.subtract([.half(name), .over(name)])
                continue
            }
            guard said.insert(byteCount > limit ? .over(name) : .half(name)).inserted else { continue }
            database.note(
                .warning,
                byteCount > limit
                    ? "a consumer is so far behind that the log is no longer kept for it: it will begin anew"
                    : "a consumer keeps more than half of the log that may be kept for consumers",
                [
                    ("consumer", name), ("behind", "\(storage.version - min(version, storage.version))"),
                    ("log", "\(byteCount)"), ("limit", "\(limit)"),
                ])
        }
        return pin
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
