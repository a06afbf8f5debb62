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

    /// The place in the order, from 0.
    var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.place < right.place
    }
}

/// What part of the work a log line is about. More may be added.
public struct LogDomain: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// A store's file, and what is read from it.
    public static let store = LogDomain(description: "store")
    /// A store's sessions with its server, its uploads and subscriptions.
    public static let sync = LogDomain(description: "sync")
    /// Connections to a server.
    public static let network = LogDomain(description: "network")
    /// Logins to a server.
    public static let login = LogDomain(description: "login")
    /// A server's databases.
    public static let database = LogDomain(description: "database")

    package static let all: [LogDomain] = [.store, .sync, .network, .login, .database]
}

/// One log line: a fixed message and variable metadata, so that sinks can filter and count.
public struct LogLine: Sendable {
    /// The importance of the line.
    public var level: LogLevel
    /// What part of the work the line is about.
    public var domain: LogDomain
    /// What happened, in the same words each time.
    public var message: String
    /// Names and values. They contain no secrets and no contents of objects.
    public var metadata: [(name: String, value: String)]

    package init(
        _ level: LogLevel, _ domain: LogDomain, _ message: String, _ metadata: [(name: String, value: String)] = []
    ) {
        self.level = level
        self.domain = domain
        self.message = message
        self.metadata = metadata
    }
}

extension LogLine: CustomStringConvertible {
    /// The line as text: `warning sync: syncing stopped (error: the login is over)`.
    public var description: String {
        let details = metadata.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
        return "\(level.rawValue) \(domain): \(message)" + (details.isEmpty ? "" : " (\(details))")
    }
}

/// Somebody to whom log lines go, such as the logger of a logging library: `LogSink(level: .info, to: logger)`.
public protocol LogReceiver: Sendable {
    /// Takes a line, from any thread, and possibly from several at once; it must not block.
    func receive(_ line: LogLine)
}

/// Receives log lines at or above a level, from any thread.
public struct LogSink: Sendable {
    /// The lowest level that is written, of domains that have none of their own.
    public var level: LogLevel
    /// The lowest levels of single domains; nil for a domain of which nothing is written.
    public var domains: [LogDomain: LogLevel?]
    /// Called for each line, from any thread, and possibly from several at once; it must not block.
    public var write: @Sendable (LogLine) -> Void
    /// The levels that count instead, where they may change; nil for those above.
    private let levels: LogLevels?
    /// What the lines of this sink are about.
    private var domain = LogDomain.store
    /// Where ``levels`` has the level of the domain.
    private var place = LogLevels.place(of: .store)

    /// - Parameters:
    ///   - level: the lowest level that is written, of domains that have none of their own.
    ///   - domains: the lowest levels of single domains; nil for a domain of which nothing is written.
    ///   - write: receives each line, on any thread.
    public init(
        level: LogLevel, domains: [LogDomain: LogLevel?] = [:], write: @escaping @Sendable (LogLine) -> Void
    ) {
        self.level = level
        self.domains = domains
        self.write = write
        levels = nil
    }

    /// Makes a sink whose levels may change while it is in use.
    ///
    /// - Parameters:
    ///   - levels: the levels; they count instead of ``level`` and ``domains``.
    ///   - write: receives each line, on any thread.
    public init(levels: LogLevels, write: @escaping @Sendable (LogLine) -> Void) {
        level = levels.level
        domains = levels.domains
        self.write = write
        self.levels = levels
    }

    /// - Parameters:
    ///   - level: the lowest level that is written, of domains that have none of their own.
    ///   - domains: the lowest levels of single domains; nil for a domain of which nothing is written.
    ///   - receiver: takes each line, on any thread.
    public init(level: LogLevel, domains: [LogDomain: LogLevel?] = [:], to receiver: some LogReceiver) {
        self.init(level: level, domains: domains) { receiver.receive($0) }
    }

    /// The same sink for lines of a domain.
    package func about(_ domain: LogDomain) -> LogSink {
        var sink = self
        sink.domain = domain
        sink.place = LogLevels.place(of: domain)
        return sink
    }

    /// Whether a line of this level would be written. O(1).
    package func writes(_ level: LogLevel) -> Bool {
        if let levels { return levels.writes(level, at: place) }
        guard let lowest = domains[domain, default: self.level] else { return false }
        return level >= lowest
    }

    /// Writes a line of another sink, if this one wants such lines.
    package func receive(_ line: LogLine) {
        if about(line.domain).writes(line.level) { write(line) }
    }

    /// Writes the line if its level is high enough; only then are message and metadata evaluated.
    package func callAsFunction(
        _ level: LogLevel, _ message: @autoclosure () -> String,
        _ metadata: @autoclosure () -> [(name: String, value: String)] = []
    ) {
        if writes(level) { write(LogLine(level, domain, message(), metadata())) }
    }
}
