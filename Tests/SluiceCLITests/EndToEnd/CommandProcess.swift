import Foundation
import Glibc
import Synchronization

/// The built `sluice`, running. Every wait ends by a deadline.
final class CommandProcess: Sendable {
    struct TimedOut: Error, CustomStringConvertible {
        let description: String
    }

    private struct State {
        var lines: [String] = []
        var rest: [UInt8] = []
        var diagnostics: [UInt8] = []
        var openStreams = 2
        var exitCode: Int32?
    }

    /// How long any one wait may take, in seconds.
    private static let waitMax = 60.0

    private let arguments: [String]
    private let processID: pid_t
    private let input: Int32
    private let output: Int32
    private let state = Mutex(State())
    private let condition = NSCondition()

    /// The executable lies beside the tests.
    static let path: String = {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("sluice").path
    }()

    init(_ arguments: [String], input text: String? = "") throws {
        var inputPipe: [Int32] = [0, 0]
        var outputPipe: [Int32] = [0, 0]
        var errorPipe: [Int32] = [0, 0]
        guard pipe(&inputPipe) == 0, pipe(&outputPipe) == 0, pipe(&errorPipe) == 0 else {
            throw TimedOut(description: "no pipe: \(errno)")
        }
        for descriptor in inputPipe + outputPipe + errorPipe { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, inputPipe[0], 0)
        posix_spawn_file_actions_adddup2(&actions, outputPipe[1], 1)
        posix_spawn_file_actions_adddup2(&actions, errorPipe[1], 2)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var words: [UnsafeMutablePointer<CChar>?] = ([Self.path] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var spawned: pid_t = 0
        let code = posix_spawn(&spawned, Self.path, &actions, nil, &words, environ)
        for descriptor in [inputPipe[0], outputPipe[1], errorPipe[1]] { close(descriptor) }
        guard code == 0 else { throw TimedOut(description: "\(Self.path) cannot be started: \(code)") }
        self.arguments = arguments
        let processID = spawned
        self.processID = processID
        input = inputPipe[1]
        output = outputPipe[0]
        let diagnostics = errorPipe[0]
        Thread.detachNewThread { [self] in
            drain(output) { state, bytes in
                state.rest += bytes
                while let end = state.rest.firstIndex(of: 0x0A) {
                    state.lines.append(String(decoding: state.rest[..<end], as: UTF8.self))
                    state.rest.removeSubrange(...end)
                }
            }
        }
        Thread.detachNewThread { [self] in drain(diagnostics) { $0.diagnostics += $1 } }
        Thread.detachNewThread { [self, processID] in
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0, errno == EINTR {}
            let code = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
            change { $0.exitCode = code }
        }
        if let text {
            write(text)
            close(input)
        }
    }

    private func change(_ body: (inout State) -> Void) {
        condition.lock()
        state.withLock { body(&$0) }
        condition.broadcast()
        condition.unlock()
    }

    private func drain(_ descriptor: Int32, _ body: (inout State, ArraySlice<UInt8>) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            change { body(&$0, buffer[..<count]) }
        }
        change { $0.openStreams -= 1 }
    }

    private func wait<Result>(for what: String, _ body: (inout State) -> Result?) throws -> Result {
        let deadline = Date(timeIntervalSinceNow: Self.waitMax)
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = state.withLock({ body(&$0) }) { return result }
            guard condition.wait(until: deadline) else {
                let seen = state.withLock { "\($0.lines) \(String(decoding: $0.diagnostics, as: UTF8.self))" }
                throw TimedOut(description: "sluice \(arguments.joined(separator: " ")): no \(what); it said \(seen)")
            }
        }
    }

    /// Writes to its standard input.
    func write(_ text: String) {
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            start += count
        }
    }

    /// Ends its standard input.
    func closeInput() { close(input) }

    /// The next line of its output.
    func line() throws -> String {
        try wait(for: "line") { state in state.lines.isEmpty ? nil : state.lines.removeFirst() }
    }

    /// The first line from here on that meets a condition.
    func line(where condition: (String) -> Bool) throws -> String {
        while true {
            let line = try line()
            if condition(line) { return line }
        }
    }

    func send(signal: Int32) { kill(processID, signal) }

    /// Waits for its end.
    ///
    /// - Returns: the exit code, or 128 and the signal's number; the lines not yet taken; and what it said on stderr.
    func finish() throws -> (code: Int32, lines: [String], diagnostics: String) {
        try wait(for: "end") { state in
            guard let code = state.exitCode, state.openStreams == 0 else { return nil }
            return (code, state.lines, String(decoding: state.diagnostics, as: UTF8.self))
        }
    }

    deinit { close(output) }
}

/// Runs `sluice` to its end.
@discardableResult
func sluice(
    _ arguments: String..., input: String = ""
) throws -> (code: Int32, lines: [String], diagnostics: String) {
    try CommandProcess(arguments, input: input).finish()
}
