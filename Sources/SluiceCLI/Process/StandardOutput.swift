internal import Glibc
internal import Synchronization

/// Writes to standard output, so that every line is out before the program waits for anything.
///
/// If the reader goes away, the program ends with success and without a message, since nobody needs its output.
final class StandardOutput: Sendable {
    static let shared = StandardOutput()

    private static let bufferSize = 1 << 16
    private let buffer = Mutex<[UInt8]>([])

    /// Writes one line and flushes it.
    func write(line: some StringProtocol) {
        buffer.withLock { buffer in
            buffer.append(contentsOf: line.utf8)
            buffer.append(0x0A)
            Self.flush(&buffer)
        }
    }

    /// Writes whole lines, and flushes them.
    func write(text: String) {
        append(Array(text.utf8))
        flush()
    }

    /// Appends whole lines, each with its line feed. They are written when the buffer is full, or by ``flush()``.
    func append(_ lines: [UInt8]) {
        buffer.withLock { buffer in
            buffer.append(contentsOf: lines)
            if buffer.count >= Self.bufferSize { Self.flush(&buffer) }
        }
    }

    /// Writes everything that was appended. Call it before waiting for anything.
    func flush() { buffer.withLock { Self.flush(&$0) } }

    private static func flush(_ buffer: inout [UInt8]) {
        let code = buffer.withUnsafeBytes { SystemCall.writeAll($0, to: STDOUT_FILENO) }
        buffer.removeAll(keepingCapacity: true)
        guard code != 0 else { return }
        if code != EPIPE { Diagnostics.report("standard output: \(SystemCall.reason(for: code))") }
        _exit(code == EPIPE ? EXIT_SUCCESS : EXIT_FAILURE)
    }

    /// Ends the program without a message as soon as the reader of a pipe on standard output goes away, even if there
    /// is nothing to write.
    func exitWhenReaderLeaves() {
        var status = stat()
        guard fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
        var thread = pthread_t()
        let started = pthread_create(
            &thread, nil,
            { _ in
                var request = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
                while true {
                    let count = poll(&request, 1, -1)
                    if count > 0 { _exit(EXIT_SUCCESS) }
                    if count < 0, errno != EINTR { return nil }
                }
            }, nil)
        if started == 0 { pthread_detach(thread) }
    }
}
