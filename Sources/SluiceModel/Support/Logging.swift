/// How much a log line matters, least first.
public enum LogLevel: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Single accesses, such as the reading of a property that a query excluded.
    case verbose
    /// Steps of the work, for those who look for a fault.
    case debug
    /// What an operator may want to know: started, connected, stopped.
    case info
    /// Something went wrong, and the program has gone on without loss.
    case warning
    /// Something went wrong and needs attention.
    case error

    private var severity: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.severity < right.severity
    }
}

/// One log line: a fixed message and what varies, so that sinks can filter and count.
public struct LogLine: Sendable {
    /// How much it matters.
    public var level: LogLevel
    /// What happened: the same words each time.
    public var message: String
    /// Names and values; never secrets, never the contents of objects.
    public var metadata: [(name: String, value: String)]

    package init(_ level: LogLevel, _ message: String, _ metadata: [(name: String, value: String)] = []) {
        self.level = level
        self.message = message
        self.metadata = metadata
    }
}

/// Receives log lines at or above a level, from any thread.
public struct LogSink: Sendable {
    /// The least level that is written.
    public var level: LogLevel
    /// Called for each line, from any thread, perhaps from several at once; must not block.
    public var write: @Sendable (LogLine) -> Void

    /// - Parameters:
    ///   - level: the least level that is written.
    ///   - write: takes a line, on any thread.
    public init(level: LogLevel, write: @escaping @Sendable (LogLine) -> Void) {
        self.level = level
        self.write = write
    }

    /// Writes the line if its level is wanted; the line is only made then.
    package func callAsFunction(
        _ level: LogLevel, _ message: @autoclosure () -> String,
        _ metadata: @autoclosure () -> [(name: String, value: String)] = []
    ) {
        guard level >= self.level else { return }
        write(LogLine(level, message(), metadata()))
    }
}
