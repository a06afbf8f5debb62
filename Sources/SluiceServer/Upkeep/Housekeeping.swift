internal import SluiceModel
internal import SluiceStorage

/// The maintenance of a database between turns, a bounded amount at a time.
final class Housekeeping {
    private let database: Database
    let indexes: IndexKeeper
    private var expiry = ClientExpiry()
    private let consumers: ConsumerRetention
    private var lastTrimmedVersion: UInt64 = 0
    /// Groups need not make versions.
    private var lastTrimmedPosition: UInt64 = 0
    /// After how many versions, or groups, the log is looked at.
    private static let trimPeriod: UInt64 = 10_000
    /// When the age of the log was last looked at.
    private var lastTrimmedAt = Timestamp(microseconds: .min)
    /// How often the age of the log is looked at, in microseconds.
    private static let agePeriod: Int64 = 3_600_000_000

    init(_ database: Database) {
        self.database = database
        indexes = IndexKeeper(database)
        consumers = ConsumerRetention(database)
    }

    /// Creates or drops an index, forgets expired clients, and drops log entries that are no longer kept for returning
    /// clients. Nothing happens while the database cannot be written.
    ///
    /// - Parameter connected: the clients that have a session now.
    func step(connected: @autoclosure () -> [UInt64], now: Timestamp) {
        guard database.isWritable else { return }
        indexes.step(now: now)
        expireClients(connected: connected, now: now)
        trimLog(now: now)
    }

    private func expireClients(connected: () -> [UInt64], now: Timestamp) {
        do {
            let count = try expiry.step(
                database, connected: connected(), retention: database.limits.clientRetention, now: now)
            guard count > 0 else { return }
            database.note(.info, "clients that were away for long were forgotten", [("count", "\(count)")])
        } catch {
            database.noteFailure("clients could not be forgotten", error)
        }
    }

    private func trimLog(now: Timestamp) {
        let (storage, limits) = (database.storage, database.limits)
        let looksAtAge =
            limits.logAgeMax != nil
            && (lastTrimmedAt.microseconds == .min || now.microseconds - lastTrimmedAt.microseconds >= Self.agePeriod)
        let position = storage.head.position
        guard
            storage.version >= lastTrimmedVersion + Self.trimPeriod
                || position >= lastTrimmedPosition + Self.trimPeriod || looksAtAge
        else { return }
        lastTrimmedVersion = storage.version
        lastTrimmedPosition = position
        lastTrimmedAt = now
        let earliest = limits.logAgeMax.map { Timestamp(microseconds: now.microseconds - $0) }
        do {
            _ = try database.appending {
                try storage.trimLog(
                    keepingVersions: limits.logVersionCount, keepingBytes: limits.logByteCount,
                    acceptedSince: earliest, entriesMax: 20_000, pinned: try consumers.pin(in: storage, limits))
            }
        } catch {
            database.noteFailure("the log could not be trimmed", error)
        }
    }
}
