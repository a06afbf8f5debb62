internal import FoundationEssentials
internal import SluiceExchange
internal import SluiceModel

/// Writes log lines to stderr.
enum LogPrinter {
    enum Format: String, CaseIterable {
        /// Lines for people, without control characters.
        case text
        /// One JSON object on each line.
        case json

        /// That of stderr: people read terminals, and programs the rest.
        static var usual: Format { Terminal.isDiagnostics ? .text : .json }
    }

    static func sink(_ levels: LogLevels, format: Format = .usual) -> LogSink {
        LogSink(levels: levels) { entry in Diagnostics.write(line(entry, at: Timestamp(Date()), format)) }
    }

    static func line(_ entry: LogLine, at time: Timestamp, _ format: Format) -> String {
        guard format == .text else {
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
