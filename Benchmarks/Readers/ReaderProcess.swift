import Foundation
import Glibc

/// Runs the sockets of many readers in a child process, since descriptors are limited for each process.
final class ReaderProcess {
    /// The hidden first argument that makes this program a reader process.
    static let mode = "--readers"

    private let process = Process()
    private let commands = Pipe()
    private let answers = Pipe()
    private var unread: [UInt8] = []

    /// What readers are sent.
    enum Form: String {
        case frames, json
        /// Anything; they do not speak our protocol.
        case raw
    }

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - form: in which form the readers speak our protocol and subscribe.
    ///   - stalledCount: how many of the readers stop reading once all are ready. Rounds end without them.
    init(port: UInt16, count: Int, _ form: Form, stalledCount: Int = 0) throws {
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [Self.mode, String(port), String(count), form.rawValue, String(stalledCount)]
        process.standardInput = commands
        process.standardOutput = answers
        try process.run()
    }

    /// Starts the process for a herd, which begins at ``begin()``.
    ///
    /// - Parameter byteCount: how many bytes each reader waits for; nil for readers that speak our protocol and
    ///   subscribe.
    init(port: UInt16, count: Int, herd byteCount: Int?) throws {
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [HerdReaders.mode, String(port), String(count), byteCount.map(String.init) ?? "sync"]
        process.standardInput = commands
        process.standardOutput = answers
        try process.run()
    }

    /// Tells a herd to begin.
    func begin() throws { try commands.fileHandleForWriting.write(contentsOf: Data([1])) }

    /// The result of a round.
    struct Round {
        /// When the last reader had everything, in nanoseconds of the monotonic clock.
        let finishedAt: UInt64
        /// The bytes that arrived, at all readers together.
        let byteCount: Int
    }

    /// Waits until every reader is ready to receive.
    func waitUntilReady() throws {
        let line = try readLine()
        guard line == "ready" else { throw BenchmarkError("the readers say '\(line)'") }
    }

    /// Waits until every reader has received one more message.
    func waitForRound() throws -> Round {
        let line = try readLine()
        let parts = line.split(separator: " ")
        guard parts.count == 3, parts[0] == "round", let finishedAt = UInt64(parts[1]), let count = Int(parts[2]) else {
            throw BenchmarkError("the readers say '\(line)'")
        }
        return Round(finishedAt: finishedAt, byteCount: count)
    }

    /// Ends the process.
    func stop() {
        try? commands.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    private func readLine() throws -> String {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeFirst(end + 1) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            guard let data = try answers.fileHandleForReading.read(upToCount: 1), !data.isEmpty else {
                throw BenchmarkError("the reader process ended")
            }
            unread += data
        }
    }

    /// Nanoseconds of the clock that parent and child share.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
