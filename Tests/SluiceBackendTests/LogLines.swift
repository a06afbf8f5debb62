import SluiceModel
import Synchronization

/// The messages that servers have logged.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var messages: [String] { lines.withLock { $0 } }

    var sink: LogSink { LogSink(level: .info) { [self] line in lines.withLock { $0.append(line.message) } } }
}
