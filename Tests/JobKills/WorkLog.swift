import Foundation
import Glibc
import SluiceBackend
import TestSupport

/// When a process began and ended to work at rows, in a file that survives it. Times are those of a clock that all
/// processes of the machine share.
final class WorkLog: Sendable {
    static let leaseNanoseconds = 3_000_000_000
    private let descriptor: Int32

    init(_ path: String) { descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o644) }

    static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    func noteBegin(_ row: Int) { note("b \(row) \(Self.now)\n") }
    func noteEnd(_ row: Int) { note("e \(row) \(Self.now)\n") }

    /// One call writes a line, so that a killed process leaves none in half.
    private func note(_ line: String) { _ = line.withCString { write(descriptor, $0, strlen($0)) } }

    /// When bodies ran.
    ///
    /// - Parameter end: when the process ended, and with it whatever it did.
    static func spans(in path: String, until end: Int) throws -> [(row: Int, span: Range<Int>)] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        var begun: [Int: Int] = [:]
        var spans: [(row: Int, span: Range<Int>)] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 3, let row = Int(words[1]), let time = Int(words[2]) else {
                throw Failure("a line of a log is '\(line)'")
            }
            if words[0] == "b" {
                begun[row] = time
            } else if let begin = begun.removeValue(forKey: row) {
                spans.append((row, begin..<max(begin, min(time, end))))
            }
        }
        return spans + begun.map { ($0.key, $0.value..<max($0.value, end)) }
    }
}

extension Processes {
    /// A server, and in its process two workers.
    static func serveQueue(_ folder: String, port: Int, _ log: String) async throws {
        let server = try SyncServer(ServerConfiguration(dataFolder: folder, port: UInt16(port), isDevelopment: true))
        let database = try await server.database(World.name, models: World.models)
        say("serving at \(try server.start())")
        let rows = database.objects(Work.self).where { !$0.isDone }.sorted(by: \.id)
        try await work(database.queue(World.queue, of: rows, options: queueOptions), workers: 2, WorkLog(log))
    }

    /// A store, and beside it three workers.
    static func work(_ url: String, _ path: String, _ log: String) async throws {
        let store = try await Store.open(
            StoreConfiguration(path: path, models: World.models, sync: SyncConfiguration(url: url)))
        let rows = store.objects(Work.self).where { !$0.isDone }.sorted(by: \.id)
        try await work(store.queue(World.queue, of: rows, options: queueOptions), workers: 3, WorkLog(log))
    }

    private static var queueOptions: WorkQueue<Work>.Options {
        var options = WorkQueue<Work>.Options()
        options.lease = .nanoseconds(WorkLog.leaseNanoseconds)
        // A kill counts as an attempt.
        options.attempts = 50
        options.backoff = .exponential(.milliseconds(10), max: .milliseconds(200))
        return options
    }

    private static func work(_ queue: WorkQueue<Work>, workers: Int, _ log: WorkLog) async throws {
        try await queue.run(workers: workers) { work, _ in
            log.noteBegin(work.id)
            defer { log.noteEnd(work.id) }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...20)))
            if Int.random(in: 0..<50) == 0 { throw Failure("the weather") }
            return { transaction in
                var done = work
                done.isDone = true
                try transaction.upsert(done)
                try transaction.insert(Effect(work: work.id))
            }
        }
    }
}
