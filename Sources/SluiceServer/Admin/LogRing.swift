internal import SluiceModel
internal import Synchronization

/// Keeps the last lines of a server's log, numbered from 1, for the dashboard.
final class LogRing: Sendable {
    /// How many lines are kept, and how many bytes of one.
    private static let lineCountMax = 1_000
    private static let byteCountMax = 2_048

    private struct Entry {
        let number: UInt64
        let time: Timestamp
        let line: LogLine
    }

    private struct State {
        var entries: [Entry] = []
        var count: UInt64 = 0
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> Timestamp

    init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    /// A sink whose lines are kept, too.
    func keeping(_ sink: LogSink?) -> LogSink {
        guard var kept = sink else { return LogSink(level: .info) { [self] line in keep(line) } }
        let write = kept.write
        kept.write = { [self] line in
            keep(line)
            write(line)
        }
        return kept
    }

    private func keep(_ line: LogLine) {
        let time = now()
        state.withLock { state in
            state.count += 1
            if state.entries.count == Self.lineCountMax { state.entries.removeFirst(Self.lineCountMax / 4) }
            state.entries.append(Entry(number: state.count, time: time, line: line))
        }
    }

    /// The lines after a number.
    ///
    /// - Parameter database: of which database lines are told, with those of none; nil for all.
    func json(after number: UInt64, database: String?) -> JSONText {
        let entries = state.withLock { state in state.entries.filter { $0.number > number } }
        return .array(
            entries.compactMap { entry in
                let isOfOther = entry.line.metadata.contains { $0.name == "database" && $0.value != database }
                // Lines about connections name no database, and addresses of everybody.
                guard database == nil || !isOfOther && entry.line.domain == .database else { return nil }
                return .object([
                    ("number", .number(entry.number)), ("time", .string(entry.time.description)),
                    ("level", .string(entry.line.level.rawValue)), ("domain", .string(entry.line.domain.description)),
                    ("message", .string(Self.cut(entry.line.message))),
                    (
                        "details",
                        .object(entry.line.metadata.map { ($0.name, .string(Self.cut($0.value))) })
                    ),
                ])
            })
    }

    private static func cut(_ text: String) -> String {
        text.utf8.count <= byteCountMax ? text : String(text.prefix(byteCountMax / 4)) + "…"
    }
}
