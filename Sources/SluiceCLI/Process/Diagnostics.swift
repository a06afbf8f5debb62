internal import Glibc
internal import Synchronization

/// Standard error.
enum Diagnostics {
    /// Whether a line is shown that the next thing said takes away.
    private static let hasDraft = Mutex(false)

    private static let erase = "\r\u{1B}[K"

    /// Prints `sluice: MESSAGE`, harmless to a terminal whatever data is in it.
    static func report(_ message: String) {
        hasDraft.withLock { hasDraft in
            put("\(hasDraft ? erase : "")sluice: \(DisplayText.harmless(message))\n")
            hasDraft = false
        }
    }

    /// Shows a line that lasts until something else is said; only where `Terminal.canRedraw`.
    static func draw(_ line: String) {
        hasDraft.withLock { hasDraft in
            put("\r\(line)\u{1B}[K")
            hasDraft = true
        }
    }

    /// Takes a drawn line away.
    static func undraw() {
        hasDraft.withLock { hasDraft in
            if hasDraft { put(erase) }
            hasDraft = false
        }
    }

    /// Writes text as it is.
    static func write(_ text: String) { hasDraft.withLock { _ in put(text) } }

    /// What cannot be written is lost: there is nowhere to say so.
    private static func put(_ text: String) {
        var text = text
        text.withUTF8 { _ = SystemCall.writeAll(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }
}
