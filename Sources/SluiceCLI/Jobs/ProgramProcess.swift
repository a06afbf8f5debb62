internal import Glibc
internal import Synchronization

/// A program that runs, in a process group of its own.
final class ProgramProcess: Sendable {
    private let guardian: ProgramGuard?
    private let state: Mutex<State>
    private let pipes: Pipes

    private struct State {
        /// The process, until its end was waited for.
        var id: pid_t?
        /// Whether it was told to end.
        var isTold = false
    }

    /// The ends of the pipes that are this process's.
    private struct Pipes {
        let input: Int32
        let output: Int32
        /// Both ends of a pipe on which nothing is written: its writing end is closed when the program has ended.
        let ending: Int32
        let ended: Int32
    }

    /// One program is started at a time, so that none has the pipes of another, whose ends it would keep open.
    private static let starting = Mutex(())

    /// - Parameters:
    ///   - words: the program, which is looked up on `PATH`, and its arguments.
    ///   - added: variables that it finds beside those of this process.
    ///   - guardian: ends it if this process is killed; nil for nobody.
    init(
        _ words: [String], environment added: [(String, String)], _ guardian: ProgramGuard?
    ) throws(CommandError) {
        self.guardian = guardian
        let started: Result<(pid_t, Pipes), CommandError> = Self.starting.withLock { _ in
            let added = added + (guardian.map { [$0.mark] } ?? [])
            do throws(CommandError) { return .success(try Self.start(words, environment: added)) } catch {
                return .failure(error)
            }
        }
        let (id, pipes) = try started.get()
        state = Mutex(State(id: id))
        self.pipes = pipes
        guardian?.add(id)
    }

    private static func start(
        _ words: [String], environment added: [(String, String)]
    ) throws(CommandError) -> (pid_t, Pipes) {
        let name = words[0]
        var ends: [[Int32]] = []
        for _ in 0..<3 {
            var pair: [Int32] = [0, 0]
            guard pipe(&pair) == 0 else {
                let code = errno
                ends.joined().forEach { close($0) }
                throw .system("cannot start \(name)", code: code)
            }
            for descriptor in pair { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
            ends.append(pair)
        }
        let (inputs, outputs, endings) = (ends[0], ends[1], ends[2])
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
        // The threads of queues block signals, and a program would do so, too: it would not hear that it is to end.
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        // A group of its own: what a terminal sends at Ctrl-C is for this process, which ends its programs in order.
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))
        // Copies, since the call takes texts that may change; they are freed when it has returned.
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
            for descriptor in [inputs[1], outputs[0]] + endings { close(descriptor) }
            throw .system("cannot start \(name)", code: code)
        }
        return (id, Pipes(input: inputs[1], output: outputs[0], ending: endings[0], ended: endings[1]))
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

    // MARK: Running

    /// Waits until the program has ended, and has ``finish(_:grace:_:)`` know. Call it once, on a thread that may wait.
    func watch() {
        if let running = state.withLock({ $0.id }) { Self.waitForEnd(of: running) }
        close(pipes.ended)
    }

    /// Gives the program what it reads, takes what it prints, and waits for its end. Call it once, on a thread that may
    /// wait.
    ///
    /// - Parameters:
    ///   - grace: how long its output may be open once it has ended: a child process that it left behind may have it.
    ///     After that, what is left in its process group gets SIGTERM, or SIGKILL if it was told to end before.
    ///   - take: is given what it prints, and says whether that is too much: then it gets SIGTERM.
    /// - Returns: the status for `waitpid`, and whether the output was open after that time.
    func finish(
        _ input: [UInt8], grace: Duration, _ take: (ArraySlice<UInt8>) -> Bool
    ) -> (status: Int32, isHeld: Bool) {
        let exchange = ProgramExchange(
            input: pipes.input, output: pipes.output, ending: pipes.ending, grace: grace)
        var isEnding = false
        let isClosed = exchange.run(input) { bytes in
            if !take(bytes), !isEnding {
                isEnding = true
                terminate()
            }
        }
        // Not reaped yet, so the number of the group is still its.
        if !isClosed { terminate(by: state.withLock { $0.isTold } ? SIGKILL : SIGTERM) }
        return (reap(), !isClosed)
    }

    /// Without reaping, so that the number stays the program's until nobody signals it any more.
    private static func waitForEnd(of running: pid_t) {
        var info = siginfo_t()
        while waitid(P_PID, id_t(running), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    private func reap() -> Int32 {
        var status: Int32 = 0
        guard let running = state.withLock({ $0.id }) else { return status }
        Self.waitForEnd(of: running)
        state.withLock { state in
            state.id = nil
            guardian?.remove(running)
            while waitpid(running, &status, 0) < 0, errno == EINTR {}
        }
        return status
    }

    /// Sends a signal to the program and everything in its process group.
    func terminate(by signal: Int32 = SIGTERM) {
        state.withLock { state in
            guard let id = state.id else { return }
            kill(-id, signal)
            state.isTold = true
        }
    }
}
