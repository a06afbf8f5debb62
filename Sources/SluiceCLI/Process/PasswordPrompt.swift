internal import Glibc

/// Asks for a password on the terminal, without showing it.
enum PasswordPrompt {
    /// - Returns: nil when standard input is no terminal.
    /// - Throws: ``CommandError`` when the two entries differ, or at the end of input.
    static func newPassword() throws(CommandError) -> String? {
        guard isatty(STDIN_FILENO) == 1 else { return nil }
        let first = try ask("new password: ")
        guard try ask("the same again: ") == first else { throw .failure("the two passwords differ") }
        return first
    }

    private static func show(_ text: String) { _ = write(STDERR_FILENO, text, text.utf8.count) }

    private static func ask(_ question: String) throws(CommandError) -> String {
        show(question)
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { throw .system("the terminal", code: errno) }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            show("\n")
        }
        guard let line = readLine(strippingNewline: true) else { throw .failure("no password was entered") }
        return line
    }
}
