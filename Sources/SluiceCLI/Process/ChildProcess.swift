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
        var outputPipe: [Int32] = [0, 0]
        var errorPipe: [Int32] = [0, 0]
        guard pipe(&outputPipe) == 0 else { throw .system("cannot start \(program)", code: errno) }
        guard pipe(&errorPipe) == 0 else {
            let code = errno
            outputPipe.forEach { close($0) }
            throw .system("cannot start \(program)", code: code)
        }
        for descriptor in outputPipe + errorPipe { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, outputPipe[1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errorPipe[1], STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        // The threads of queues block signals, and the program would do so, too.
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        // Copies, since the call takes texts that may change; they are freed when it has returned.
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var processID: pid_t = 0
        let code = posix_spawnp(&processID, program, &actions, &attributes, &words, environ)
        words.forEach { free($0) }
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        close(outputPipe[1])
        close(errorPipe[1])
        self.program = program
        self.processID = processID
        output = outputPipe[0]
        diagnostics = errorPipe[0]
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
