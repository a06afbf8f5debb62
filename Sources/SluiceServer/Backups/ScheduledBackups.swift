/// Says where a server makes backups by itself, how often, and how many it keeps.
public struct ScheduledBackups: Sendable, Hashable {
    /// The folder of the backups, made if it is missing. No other server may have it.
    public var folder: String
    /// The time from one backup to the next. Default: 6 h.
    public var interval: Duration
    /// How many backups are kept; the oldest go first. Default: 28.
    public var keptCount: Int

    /// Says where, how often, and how many.
    ///
    /// - Parameters:
    ///   - folder: the folder, other than that of the data.
    ///   - interval: the time from one backup to the next, above zero.
    ///   - keptCount: how many are kept, at least one.
    public init(folder: String, interval: Duration = .seconds(6 * 3_600), keptCount: Int = 28) {
        self.folder = folder
        self.interval = interval
        self.keptCount = keptCount
    }
}
