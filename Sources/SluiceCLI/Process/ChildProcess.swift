internal import Glibc

/// Runs a program as a filter: it reads a file, and we read its output.
final class ChildProcess {
    /// The descriptor from which its output is read.
    let output: Int32
    private let program: String
    private let diagnostics: Int32
    private var processID: pid_t
    private var hasEnded = false

    /// - Parameters:
    ///   - program: the name of the program, which is looked up on `PATH`.
    ///   - input: the descriptor that becomes the program's standard input; it stays open in this process.
    init(_ program: String, arguments: [String], input: Int32) throws(CommandError) {
        let pipes = try PipeEnds.make(2, orFail: "cannot start \(program)")
        let (outputs, errors) = (pipes[0], pipes[1])
        var launch = ProcessLaunch(program, [program] + arguments)
        launch.streams = [
            (input, STDIN_FILENO), (outputs.writing, STDOUT_FILENO), (errors.writing, STDERR_FILENO),
        ]
        launch.defaultSignals = [SIGPIPE]
        let (processID, code) = launch.start()
        close(outputs.writing)
        close(errors.writing)
        self.program = program
        self.processID = processID
        output = outputs.reading
        diagnostics = errors.reading
        if code != 0 {
            hasEnded = true
            throw .system("cannot start \(program), which reads .gz files", code: code)
        }
    }

    deinit {
        close(output)
        close(diagnostics)
        if !hasEnded {
            kill(processID, SIGTERM)
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        }
    }

    /// Waits for the end of a program that has closed its output.
    ///
    /// - Throws: ``CommandError`` with the program's own messages if it failed.
    func finish(file: String) throws(CommandError) {
        guard !hasEnded else { return }
        var message: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while message.count < 1 << 16 {
            let count = read(diagnostics, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            message += chunk[..<count]
        }
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        hasEnded = true
        guard status != 0 else { return }
        let words = String(decoding: message, as: UTF8.self).split(whereSeparator: \.isNewline).filter { !$0.isEmpty }
        throw .failure(
            "\(file): \(words.isEmpty ? "\(program) failed with status \(status)" : words.joined(separator: "; "))")
    }
}
