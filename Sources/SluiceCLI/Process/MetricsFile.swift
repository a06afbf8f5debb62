internal import FoundationEssentials
internal import SluiceModel

/// A file that has a server's metrics as text, for a collector that reads files. It is written whole, under its name at
/// once, so that nobody reads a part of it.
struct MetricsFile: Sendable {
    /// How often the file is written while the server runs.
    static let interval = Duration.seconds(10)

    let path: String
    let log: LogSink?
    /// What the server has counted.
    let text: @Sendable () async -> String

    /// Writes the file until the task is cancelled.
    func keepCurrent() async {
        while !Task.isCancelled {
            await write()
            try? await Task.sleep(for: Self.interval)
        }
    }

    func write() async {
        let text = await text()
        do {
            // A path that begins with a tilde would be expanded.
            let file = URL(filePath: path.hasPrefix("/") ? path : "./" + path)
            try Data(text.utf8).write(to: file, options: .atomic)
        } catch {
            log?(.warning, "the file of metrics could not be written", [("file", path), ("error", "\(error)")])
        }
    }
}
