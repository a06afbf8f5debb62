internal import Glibc

/// Describes the terminals that the program's streams are connected to.
enum Terminal {
    static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    static var isDiagnostics: Bool { isatty(STDERR_FILENO) == 1 }

    /// Whether a line on stderr can be overwritten.
    static var canRedraw: Bool {
        guard isDiagnostics, let kind = getenv("TERM") else { return false }
        return kind.pointee != 0 && strcmp(kind, "dumb") != 0
    }

    /// The width in columns of the terminal on standard output; nil if that is not a terminal.
    static var width: Int? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
