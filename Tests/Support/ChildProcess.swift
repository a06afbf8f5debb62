import Foundation
import Glibc
import Synchronization

/// A running program, with its lines, its diagnostics and its end. A wait fails once the program has hardly computed for
/// ``waitMax``, and after four times that in any case: on a busy machine it may have to compute for long.
package final class ChildProcess: Sendable {
    package struct Exit: Sendable {
        /// The exit code, or 128 plus the number of the signal.
        package var code: Int32
        /// The lines of output that were not read.
        package var lines: [String]
        /// All lines of output, also those that were read or passed over.
        package var allLines: [String]
        package var diagnostics: String
    }

    package enum Stream: Int, Sendable { case output, diagnostics }

    private struct State {
        var lines: [[String]] = [[], []]
        var rests: [[UInt8]] = [[], []]
        var taken = [0, 0]
        var openStreamCount = 2
        var exitCode: Int32?
    }

    /// The id that the system gave it.
    package let processID: Int32
    private let name: String
    /// The descriptor of its standard input; -1 once that is closed.
    private let input: Mutex<Int32>
    /// The descriptors of what it writes; -1 once a stream has ended. Whoever holds one may read it.
    private let output: Mutex<Int32>
    private let errors: Mutex<Int32>
    private let state = Mutex(State())
    private let condition = NSCondition()

    /// - Parameter text: the whole standard input; nil leaves it open for ``write(_:)``.
    package init(_ executable: String, _ arguments: [String], input text: String? = "") throws {
        name = ([executable] + arguments).joined(separator: " ")
        let pipes = try (0..<3).map { _ in try Self.pipe() }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, source) in [pipes[0].reading, pipes[1].writing, pipes[2].writing].enumerated() {
            posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
        }
        // The threads of queues block signals, and a program that is started would, too.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var spawned: pid_t = 0
        let code = posix_spawn(&spawned, executable, &actions, &attributes, &words, environ)
        for descriptor in [pipes[0].reading, pipes[1].writing, pipes[2].writing] { close(descriptor) }
        processID = spawned
        input = Mutex(pipes[0].writing)
        output = Mutex(pipes[1].reading)
        errors = Mutex(pipes[2].reading)
        guard code == 0 else {
            for descriptor in [pipes[0].writing, pipes[1].reading, pipes[2].reading] { close(descriptor) }
            throw Failure("\(executable) cannot be started: \(String(cString: strerror(code)))")
        }
        Thread.detachNewThread { [self] in drain(.output) }
        Thread.detachNewThread { [self] in drain(.diagnostics) }
        Thread.detachNewThread { [self] in awaitEnd() }
        guard let text else { return }
        Thread.detachNewThread { [self] in
            write(text)
            closeInput()
        }
    }

    deinit { closeInput() }

    /// Writes to its standard input as far as the program reads it.
    package func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        input.withLock { descriptor in
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Closes its standard input.
    package func closeInput() {
        input.withLock { descriptor in
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }
    }

    /// A pair of sockets. Unlike a write to a closed pipe, a write to a closed socket can be kept from raising a
    /// signal.
    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Failure("no pair of sockets: \(errno)")
        }
        shutdown(ends[0], Int32(SHUT_WR))
        return (ends[0], ends[1])
    }

    private func change(_ body: (inout State) -> Void) {
        condition.lock()
        state.withLock { body(&$0) }
        condition.broadcast()
        condition.unlock()
    }

    /// Takes a stream's bytes as they arrive, until its end.
    private func drain(_ stream: Stream) {
        var ready = pollfd(fd: withReader(of: stream) { $0 }, events: Int16(POLLIN), revents: 0)
        while true {
            if poll(&ready, 1, -1) < 0, errno == EINTR { continue }
            if takeWritten(stream) { break }
        }
        withReader(of: stream) { descriptor in
            close(descriptor)
            descriptor = -1
        }
        change { $0.openStreamCount -= 1 }
    }

    private func withReader<Result>(of stream: Stream, _ body: (inout Int32) -> Result) -> Result {
        switch stream {
        case .output: output.withLock { body(&$0) }
        case .diagnostics: errors.withLock { body(&$0) }
        }
    }

    /// Takes the bytes that the program has written to a stream and nobody has taken yet.
    ///
    /// - Returns: whether the stream has ended.
    @discardableResult
    private func takeWritten(_ stream: Stream) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        return withReader(of: stream) { descriptor in
            while true {
                let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN { return false }
                guard count > 0 else { return true }
                change { state in
                    var rest = state.rests[stream.rawValue] + buffer[..<count]
                    while let end = rest.firstIndex(of: 0x0A) {
                        state.lines[stream.rawValue].append(String(decoding: rest[..<end], as: UTF8.self))
                        rest.removeSubrange(...end)
                    }
                    state.rests[stream.rawValue] = rest
                }
            }
        }
    }

    private func awaitEnd() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        change { state in
            var status: Int32 = 0
            waitpid(processID, &status, 0)
            state.exitCode = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
        }
    }

    private func wait<Result: Sendable>(
        for what: String, _ body: @escaping @Sendable (inout State) -> Result?
    ) async throws -> Result {
        try await blocking { [self] in try waitBlocking(for: what, body) }
    }

    private func waitBlocking<Result>(for what: String, _ body: (inout State) -> Result?) throws -> Result {
        var deadline = Date(timeIntervalSinceNow: waitMax / .seconds(1))
        let last = Date(timeIntervalSinceNow: 4 * (waitMax / .seconds(1)))
        var computed = computedTime
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = state.withLock({ body(&$0) }) { return result }
            let isOver = state.withLock { $0.exitCode != nil && $0.openStreamCount == 0 }
            if !isOver, condition.wait(until: deadline) { continue }
            let now = computedTime
            guard !isOver, Date() < last, now - computed > waitMax / 100 else {
                let state = isOver ? "it has ended" : now - computed > waitMax / 100 ? "it computes" : "it waits"
                throw Failure("\(name): no \(what); \(state), and said \(self.state.withLock { $0.lines })")
            }
            deadline = Date(timeIntervalSinceNow: waitMax / .seconds(1))
            computed = now
        }
    }

    /// The processor time that the program has taken so far; zero once it has ended.
    private var computedTime: Duration {
        let line = (try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)) ?? ""
        // The name of the program is in parentheses, and may have any characters; the times are the 14th and 15th field.
        let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Int64(fields[12]), let system = Int64(fields[13]) else {
            return .zero
        }
        return .milliseconds((user + system) * 1_000 / Int64(sysconf(Int32(_SC_CLK_TCK))))
    }

    /// Waits for the next unread line of a stream that contains all of some words.
    @discardableResult
    package func line(_ stream: Stream = .output, with words: String...) async throws -> String {
        try await wait(for: "line with \(words)") { state in
            let index = stream.rawValue
            while state.taken[index] < state.lines[index].count {
                defer { state.taken[index] += 1 }
                let line = state.lines[index][state.taken[index]]
                if words.allSatisfy({ line.contains($0) }) { return line }
            }
            return nil
        }
    }

    /// Whether the program is still running.
    package var isRunning: Bool { state.withLock { $0.exitCode == nil } }

    /// The lines that the program has written to stderr so far. What it writes there before a line of output is among
    /// them once a test has read that line.
    package var diagnostics: String {
        takeWritten(.diagnostics)
        return state.withLock { $0.lines[1].joined(separator: "\n") }
    }

    /// The lines that the program has written to stdout so far, each with its end.
    package var printed: String {
        takeWritten(.output)
        return state.withLock { $0.lines[0].map { $0 + "\n" }.joined() }
    }

    /// Where the program crashed, as far as its output says.
    package var crash: String {
        let lines = state.withLock { $0.lines[1] }
        guard let start = lines.firstIndex(where: { $0.contains(" crashed:") }) else { return "" }
        return lines[start...].prefix(16).joined(separator: "\n")
    }

    /// Sends a signal, unless the program has ended.
    package func signal(_ number: Int32) {
        state.withLock { if $0.exitCode == nil { _ = kill(processID, number) } }
    }

    /// Waits for the end of the program.
    package func finish() async throws -> Exit { try await wait(for: "end", Self.exit) }

    /// Waits for the end of the program on the thread of the caller, with the help of no task: where a test calls this,
    /// the thread may be one of the few that run tasks.
    package func finishBlocking() throws -> Exit { try waitBlocking(for: "end", Self.exit) }

    private static func exit(_ state: inout State) -> Exit? {
        guard let code = state.exitCode, state.openStreamCount == 0 else { return nil }
        return Exit(
            code: code, lines: Array(state.lines[0][state.taken[0]...]), allLines: state.lines[0],
            diagnostics: state.lines[1].joined(separator: "\n"))
    }

    /// The program's memory in kilobytes, from `/proc`: `VmRSS` is the present amount, `VmHWM` the maximum so far.
    package func memory(_ field: String = "VmRSS") throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(field + ":") }),
            let number = line.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap({ Int($0) })
        else { throw Failure("no \(field) of \(name)") }
        return number
    }
}
