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
        let failure = "cannot start \(words[0])"
        let ends = try PipeEnds.make(3, orFail: failure)
        let (input, output, ending) = (ends[0], ends[1], ends[2])
        var launch = ProcessLaunch(words[0], words)
        launch.streams = [(input.reading, STDIN_FILENO), (output.writing, STDOUT_FILENO)]
        launch.defaultSignals = [SIGPIPE, SIGTERM, SIGINT]
        // This process is told at Ctrl-C, and ends its programs in order.
        launch.hasOwnGroup = true
        launch.variables = added
        let (id, code) = launch.start()
        close(input.reading)
        close(output.writing)
        guard code == 0 else {
            close(input.writing)
            close(output.reading)
            ending.closeBoth()
            throw .system(failure, code: code)
        }
        let pipes = Pipes(
            input: input.writing, output: output.reading, ending: ending.reading, ended: ending.writing)
        return (id, pipes)
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
