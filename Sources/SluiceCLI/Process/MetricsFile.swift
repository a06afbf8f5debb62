internal import FoundationEssentials
internal import SluiceModel

/// A file that has a server's metrics as text, for a collector that reads files. It is written whole, under its name at
/// once, so that nobody reads a part of it.
struct MetricsFile: Sendable {
    /// How often the file is written while the server runs.
    static let interval = Duration.seconds(10)

    let metrics: MetricsText
    let path: String
    let log: LogSink?

    /// Writes the file until the task is cancelled.
    func keepCurrent() async {
        while !Task.isCancelled {
            write()
            try? await Task.sleep(for: Self.interval)
        }
    }

    func write() {
        do {
            try Data(metrics.text.utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            log?(.warning, "the file of metrics could not be written", [("file", path), ("error", "\(error)")])
        }
    }
}
