internal import Glibc

/// Standard error.
enum Diagnostics {
    /// Prints `sluice: MESSAGE`, harmless to a terminal whatever data is in it.
    static func report(_ message: String) { write("sluice: \(DisplayText.harmless(message))\n") }

    /// Writes text as it is. What cannot be written is lost: there is nowhere to say so.
    static func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = SystemCall.writeAll(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }
}
