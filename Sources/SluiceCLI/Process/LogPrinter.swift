internal import FoundationEssentials
internal import SluiceModel

/// Writes log lines to stderr: readable lines on a terminal, else one JSON object on each line.
enum LogPrinter {
    static func sink(
        level: LogLevel, domains: [LogDomain: LogLevel?] = [:], isTerminal: Bool = Terminal.isDiagnostics
    ) -> LogSink {
        LogSink(level: level, domains: domains) { entry in
            Diagnostics.write(line(entry, at: Timestamp(Date()), isTerminal: isTerminal))
        }
    }

    static func line(_ entry: LogLine, at time: Timestamp, isTerminal: Bool) -> String {
        guard isTerminal else {
            var writer = JSONWriter()
            let members =
                [
                    ("time", time.description), ("level", entry.level.rawValue), ("domain", entry.domain.description),
                    ("message", entry.message),
                ]
                + entry.metadata
            writer.object(members.map { ($0.0, $0.1) }) { $0.string($1) }
            writer.endLine()
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        let metadata = entry.metadata.map { " \($0.name)=\(DisplayText.harmless($0.value))" }.joined()
        return "\(time) \(entry.level.rawValue) \(entry.domain): \(DisplayText.harmless(entry.message))\(metadata)\n"
    }
}
