internal import FoundationEssentials
internal import Glibc
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

    /// Checks that the file can be made.
    ///
    /// - Throws: ``CommandError`` of kind `usage` that says what is in the way.
    static func check(_ path: String) throws(CommandError) {
        func invalid(_ reason: String) -> CommandError {
            .usage("--metrics-file: the file '\(DisplayText.shortened(path))' cannot be written: \(reason)")
        }
        let folder = LinkedFile.folder(of: LinkedFile.behindLinks(path))
        var status = stat()
        guard stat(folder, &status) == 0 else {
            throw invalid(
                errno == ENOENT
                    ? "there is no folder '\(DisplayText.shortened(folder))'; make it, or name another file"
                    : SystemCall.reason(for: errno))
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw invalid("'\(DisplayText.shortened(folder))' is no folder; name a file in one")
        }
        guard stat(path, &status) != 0 || status.st_mode & S_IFMT != S_IFDIR else {
            throw invalid("it is a folder; name a file in it")
        }
        guard access(folder, W_OK) == 0 else {
            throw invalid("this user may not write in '\(DisplayText.shortened(folder))'; name a folder where it may")
        }
    }

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
            let place = LinkedFile.behindLinks(path)
            let file = URL(filePath: place.hasPrefix("/") ? place : "./" + place)
            try Data(text.utf8).write(to: file, options: .atomic)
        } catch {
            let reason: String
            do throws(CommandError) {
                try Self.check(path)
                reason = (error as? CocoaError)?.posixReason ?? "the disk did not take it"
            } catch { reason = error.message }
            log?(.warning, "the file of metrics could not be written", [("file", path), ("error", reason)])
        }
    }
}

extension CocoaError {
    /// The system's reason, where there is one.
    fileprivate var posixReason: String? {
        (underlying as? POSIXError).map { SystemCall.reason(for: $0.code.rawValue) }
    }
}
