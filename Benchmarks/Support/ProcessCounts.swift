import CEpoll
import Foundation
import Glibc

/// What this process has asked of the system, as it counts it: how often a thread has waited for another thread, a
/// socket or the disk, how many calls have written to files, and how much processor time has gone by.
struct ProcessCounts {
    /// Voluntary context switches of all threads.
    let waitCount: Double
    /// `write` and `pwrite64`; not what is sent to sockets.
    let writeCount: Double
    /// Of all threads, in microseconds.
    let processorTime: Double

    /// The counts since the process began.
    static func now() throws -> ProcessCounts {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else {
            throw BenchmarkError("the system tells no usage: \(errno)")
        }
        let lines = try String(contentsOfFile: "/proc/self/io", encoding: .utf8).split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("syscw: ") }), let writes = Double(line.dropFirst(7)) else {
            throw BenchmarkError("/proc/self/io does not count calls that write")
        }
        func microseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e6 + Double(time.tv_usec) }
        return ProcessCounts(
            waitCount: Double(usage.ru_nvcsw), writeCount: writes,
            processorTime: microseconds(usage.ru_utime) + microseconds(usage.ru_stime))
    }

    /// The counts of what a piece of work has asked for, for each of its parts.
    static func each<Result>(
        of count: Int, _ body: () async throws -> Result
    ) async throws -> (result: Result, each: ProcessCounts) {
        let before = try now()
        let result = try await body()
        let after = try now()
        let count = Double(count)
        return (
            result,
            ProcessCounts(
                waitCount: (after.waitCount - before.waitCount) / count,
                writeCount: (after.writeCount - before.writeCount) / count,
                processorTime: (after.processorTime - before.processorTime) / count)
        )
    }
}
