internal import Dispatch
internal import Glibc
internal import Sluice
internal import Synchronization

/// Runs a program that is given lines on its standard input, and gives lines on its standard output.
///
/// It has the standard error and the environment of this process.
struct WorkerProgram: Sendable {
    /// How a run ended.
    struct Exit: Sendable {
        /// The exit code; 128 and the signal's number if a signal ended it.
        let code: Int32
        /// What it printed.
        let output: [UInt8]
    }

    private let words: [String]
    /// The most bytes that a run may print.
    private static let outputByteCountMax = 16 << 20
    /// How many seconds a program has to end in order.
    private static let grace = 10
    private static let queue = DispatchQueue(label: "sluice.workers", attributes: .concurrent)

    /// - Parameter words: the program, which is looked up on `PATH`, and its arguments.
    /// - Throws: ``CommandError`` when there is no such program, before any row is blamed for that.
    init(_ words: [String]) throws(CommandError) {
        if let code = Self.obstacle(to: words[0]) { throw .system("cannot start \(words[0])", code: code) }
        self.words = words
    }

    /// Why a program cannot be started; nil if it is there.
    private static func obstacle(to name: String) -> Int32? {
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
        let found = folders.split(separator: ":", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? name : "\($0)/\(name)" }
        let paths = name.contains("/") ? [name] : found
        var obstacle = ENOENT
        for path in paths {
            var information = stat()
            guard stat(path, &information) == 0 else { continue }
            if information.st_mode & S_IFMT != S_IFDIR, access(path, X_OK) == 0 { return nil }
            obstacle = EACCES
        }
        return obstacle
    }

    /// Runs the program to its end, or until the task is cancelled: then it gets SIGTERM, and SIGKILL if it goes on.
    ///
    /// - Parameters:
    ///   - input: what it reads. Only once it is guarded, it is given any of it.
    ///   - environment: variables that it finds beside those of this process.
    ///   - guardian: ends it if this process is killed.
    /// - Throws: ``CommandError`` when it prints too much; `JobError.Code.tryAgain` when it cannot be started, since it was
    ///   there when this was made.
    func run(
        _ input: [UInt8], environment: [(String, String)], guardedBy guardian: ProgramGuard
    ) async throws -> Exit {
        let process: Process
        do throws(CommandError) { process = try Process(words, environment: environment, guardian) } catch {
            throw JobError.tryAgain(error.message)
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                Self.queue.async {
                    Self.queue.async { process.write(input) }
                    continuation.resume(with: Result { try process.finish(Self.outputByteCountMax) })
                }
            }
        } onCancel: {
            process.terminate()
            Self.queue.asyncAfter(deadline: .now() + .seconds(Self.grace)) { process.terminate(by: SIGKILL) }
        }
    }

    /// A running program. Its ends of the pipes are each used by one thread.
    private final class Process: Sendable {
        private let name: String
        private let input: Int32
        private let output: Int32
        private let guardian: ProgramGuard
        /// The process, until its end was waited for.
        private let id: Mutex<pid_t?>

        /// One program is started at a time, so that none has the pipes of another, whose ends it would keep open.
        private static let starting = Mutex(())

        init(
            _ words: [String], environment added: [(String, String)], _ guardian: ProgramGuard
        ) throws(CommandError) {
            name = words[0]
            self.guardian = guardian
            let started: Result<(pid_t, Int32, Int32), CommandError> = Self.starting.withLock { _ in
                do throws(CommandError) { return .success(try Self.start(words, environment: added)) } catch {
                    return .failure(error)
                }
            }
            let (id, input, output) = try started.get()
            self.id = Mutex(id)
            guardian.add(id)
            self.input = input
            self.output = output
        }

        private static func start(
            _ words: [String], environment added: [(String, String)]
        ) throws(CommandError) -> (pid_t, input: Int32, output: Int32) {
            let name = words[0]
            var inputs: [Int32] = [0, 0]
            var outputs: [Int32] = [0, 0]
            guard pipe(&inputs) == 0 else { throw .system("cannot start \(name)", code: errno) }
            guard pipe(&outputs) == 0 else {
                let code = errno
                inputs.forEach { close($0) }
                throw .system("cannot start \(name)", code: code)
            }
            for descriptor in inputs + outputs { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            posix_spawn_file_actions_adddup2(&actions, inputs[0], STDIN_FILENO)
            posix_spawn_file_actions_adddup2(&actions, outputs[1], STDOUT_FILENO)
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            var defaults = sigset_t()
            sigemptyset(&defaults)
            for number in [SIGPIPE, SIGTERM, SIGINT] { sigaddset(&defaults, number) }
            posix_spawnattr_setsigdefault(&attributes, &defaults)
            // A group of its own: what a terminal sends at Ctrl-C is for this process, which ends its programs in order.
            posix_spawnattr_setpgroup(&attributes, 0)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
            var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
            var variables = environment(with: added)
            var id: pid_t = 0
            let code = posix_spawnp(&id, name, &actions, &attributes, &arguments, &variables)
            (arguments + variables).forEach { free($0) }
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
            close(inputs[0])
            close(outputs[1])
            guard code == 0 else {
                close(inputs[1])
                close(outputs[0])
                throw .system("cannot start \(name)", code: code)
            }
            return (id, inputs[1], outputs[0])
        }

        private static func environment(with added: [(String, String)]) -> [UnsafeMutablePointer<CChar>?] {
            var variables: [UnsafeMutablePointer<CChar>?] = []
            var next = environ
            while let variable = next.pointee {
                let text = String(cString: variable)
                if !added.contains(where: { text.hasPrefix("\($0.0)=") }) { variables.append(strdup(text)) }
                next += 1
            }
            return variables + added.map { strdup("\($0.0)=\($0.1)") } + [nil]
        }

        /// Writes what the program reads. It may end without having read all.
        func write(_ bytes: [UInt8]) {
            bytes.withUnsafeBytes { _ = SystemCall.writeAll($0, to: input) }
            close(input)
        }

        /// Reads what the program prints, and waits for its end.
        func finish(_ byteCountMax: Int) throws(CommandError) -> Exit {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            var isTooMuch = false
            while true {
                let count = read(output, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                isTooMuch = isTooMuch || bytes.count + count > byteCountMax
                if isTooMuch { terminate() } else { bytes += buffer[..<count] }
            }
            close(output)
            let status = wait()
            guard !isTooMuch else {
                throw .failure(
                    "\(name) printed more than \(byteCountMax >> 20) MiB, which is the most for one transaction")
            }
            let signal = status & 0x7F
            return Exit(code: signal == 0 ? (status >> 8) & 0xFF : 128 + signal, output: bytes)
        }

        private func wait() -> Int32 {
            var status: Int32 = 0
            guard let running = id.withLock({ $0 }) else { return status }
            // Without reaping, so that the number stays the program's until nobody signals it any more.
            var info = siginfo_t()
            while waitid(P_PID, id_t(running), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            id.withLock { id in
                id = nil
                guardian.remove(running)
                while waitpid(running, &status, 0) < 0, errno == EINTR {}
            }
            return status
        }

        func terminate(by signal: Int32 = SIGTERM) { id.withLock { id in if let id { kill(-id, signal) } } }
    }
}
