import SluiceModel
import Synchronization

/// Lines of a log.
final class ServerLog: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var sink: LogSink {
        LogSink(level: .verbose) { [self] entry in
            let text = "\(entry.message) \(entry.metadata.map { "\($0.name): \($0.value)" })"
            lines.withLock { $0.append(text) }
        }
    }
}
