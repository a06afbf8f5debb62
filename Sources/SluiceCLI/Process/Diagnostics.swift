internal import Glibc
internal import Synchronization

/// Writes to standard error.
enum Diagnostics {
    /// Whether a line is shown that the next message replaces.
    private static let hasDraft = Mutex(false)

    private static let erase = "\r\u{1B}[K"

    /// Prints `sluice: MESSAGE`, with control characters escaped so that data cannot steer the terminal. Further lines of
    /// the message are indented, so that none looks like a message of its own.
    static func report(_ message: String) {
        hasDraft.withLock { hasDraft in
            put("\(hasDraft ? erase : "")sluice: \(DisplayText.harmlessLines(message))\n")
            hasDraft = false
        }
    }

    /// Shows a line until the next message. Call it only if `Terminal.canRedraw` is true.
    static func draw(_ line: String) {
        hasDraft.withLock { hasDraft in
            put("\r\(line)\u{1B}[K")
            hasDraft = true
        }
    }

    /// Removes the line that was drawn.
    static func undraw() {
        hasDraft.withLock { hasDraft in
            if hasDraft { put(erase) }
            hasDraft = false
        }
    }

    /// Writes text unchanged.
    static func write(_ text: String) { hasDraft.withLock { _ in put(text) } }

    /// Writes text, and ignores errors, since there is no other place to report them.
    private static func put(_ text: String) {
        var text = text
        text.withUTF8 { _ = SystemCall.writeAll(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }
}
