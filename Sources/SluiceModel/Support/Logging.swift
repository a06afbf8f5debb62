/// The importance of a log line, ascending.
public enum LogLevel: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Single accesses, such as reading a property that a query excluded.
    case verbose
    /// Steps of the work, for finding faults.
    case debug
    /// Events that an operator may want to know of: started, connected, stopped.
    case info
    /// Something went wrong, and the program continued without loss.
    case warning
    /// Something went wrong and needs attention.
    case error

    private var severity: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.severity < right.severity
    }
}

/// One log line: a fixed message and variable metadata, so that sinks can filter and count.
public struct LogLine: Sendable {
    /// The importance of the line.
    public var level: LogLevel
    /// What happened, in the same words each time.
    public var message: String
    /// Names and values. They contain no secrets and no contents of objects.
    public var metadata: [(name: String, value: String)]

    package init(_ level: LogLevel, _ message: String, _ metadata: [(name: String, value: String)] = []) {
        self.level = level
        self.message = message
        self.metadata = metadata
    }
}

/// Receives log lines at or above a level, from any thread.
public struct LogSink: Sendable {
    /// The lowest level that is written.
    public var level: LogLevel
    /// Called for each line, from any thread, and possibly from several at once; it must not block.
    public var write: @Sendable (LogLine) -> Void

    /// - Parameters:
    ///   - level: the lowest level that is written.
    ///   - write: receives each line, on any thread.
    public init(level: LogLevel, write: @escaping @Sendable (LogLine) -> Void) {
        self.level = level
        self.write = write
    }

    /// Writes the line if its level is high enough; only then are message and metadata evaluated.
    package func callAsFunction(
        _ level: LogLevel, _ message: @autoclosure () -> String,
        _ metadata: @autoclosure () -> [(name: String, value: String)] = []
    ) {
        guard level >= self.level else { return }
        write(LogLine(level, message(), metadata()))
    }
}
