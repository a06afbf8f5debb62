import Foundation
import Glibc
import SluiceBackend
import TestSupport

/// A run with a queue: eight workers in a server and in two programs beside stores, which are killed and stopped while rows
/// are added, and the comparison at the end.
struct QueueKilling {
    /// A process, and what was done to it. Times are nanoseconds of the machine's clock.
    private final class Worker {
        let process: ChildProcess
        let log: String
        var stops: [Range<Int>] = []
        var end = Int.max
        /// Since when it is stopped, and when it is to go on; nil while it runs.
        var stopped: (since: Int, until: Int)?

        init(_ process: ChildProcess, log: String) {
            self.process = process
            self.log = log
        }
    }

    private let kills: Int
    private let rows: Int
    private let pauseMax: Int
    private var generator: SeededGenerator
    private let folder: String
    private let port: UInt16
    private var server: Worker?
    private var workers: [Worker?] = [nil, nil]
    private var all: [Worker] = []
    /// When no server ran.
    private var gaps: [Range<Int>] = []
    private var (serverKills, workerKills, stops) = (0, 0, 0)
    private let start = ContinuousClock.now

    init(kills: Int, rows: Int, seed: Int, pauseMax: Int) throws {
        self.kills = max(1, kills)
        self.rows = rows
        self.pauseMax = max(1, pauseMax)
        generator = SeededGenerator(seed: UInt64(seed))
        folder = FileManager.default.temporaryDirectory.path + "/sluice-kills-\(UUID().uuidString)"
        port = try UnusedPort.next()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    private var url: String { "ws://127.0.0.1:\(port)/\(World.name)" }

    mutating func run() async throws {
        defer {
            for worker in all { worker.process.signal(SIGKILL) }
            try? FileManager.default.removeItem(atPath: folder)
        }
        try await startServer()
        for index in workers.indices { try startWorker(index) }
        let store = try await Store.open(
            StoreConfiguration(
                path: folder + "/writer", models: World.models, sync: SyncConfiguration(url: url)))
        var written = 0
        for number in 1...kills {
            let until = rows * number / kills
            try await store.write { [written] in for id in written..<until { try $0.insert(Work(id: id)) } }
            written = until
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...pauseMax, using: &generator)))
            try await trouble()
            if number % 50 == 0 { say("\(number) kills") }
        }
        for worker in workers { if let worker { resume(worker) } }
        try await store.uploaded()
        try await settle(store)
        await store.close()
        try await end(server)
        for worker in workers { try await end(worker) }
        say(
            "killed the server \(serverKills) times and programs with workers \(workerKills) times, stopped those \(stops) times"
        )
        try await compare()
        try compareHolders()
    }

    private func say(_ line: String) { Processes.say("\(Int((ContinuousClock.now - start) / .seconds(1))) s: \(line)") }

    // MARK: Processes

    private mutating func begin(_ arguments: String...) throws -> Worker {
        let log = folder + "/log-\(all.count)"
        let worker = Worker(try ChildProcess(CommandLine.arguments[0], arguments + [log]), log: log)
        all.append(worker)
        return worker
    }

    private mutating func startServer() async throws {
        let worker = try begin("serve-queue", folder + "/data", "\(port)")
        server = worker
        _ = try await worker.process.line(with: "serving at")
    }

    private mutating func startWorker(_ index: Int) throws {
        workers[index] = try begin("work", url, folder + "/worker-\(index)")
    }

    private func end(_ worker: Worker?) async throws {
        guard let worker else { return }
        resume(worker)
        worker.end = WorkLog.now
        worker.process.signal(SIGKILL)
        _ = try await worker.process.finish()
    }

    private func resume(_ worker: Worker) {
        guard let stopped = worker.stopped else { return }
        worker.process.signal(SIGCONT)
        worker.stops.append(stopped.since..<WorkLog.now)
        worker.stopped = nil
    }

    /// Kills or stops something.
    private mutating func trouble() async throws {
        let now = WorkLog.now
        for worker in workers { if let worker, let stopped = worker.stopped, stopped.until <= now { resume(worker) } }
        let index = Int.random(in: 0..<workers.count, using: &generator)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<5:
            workerKills += 1
            try await end(workers[index])
            try startWorker(index)
        case 5..<8:
            serverKills += 1
            try await end(server)
            let since = server?.end ?? 0
            try await startServer()
            gaps.append(since..<WorkLog.now)
        default:
            guard let worker = workers[index], worker.stopped == nil else { return }
            stops += 1
            worker.process.signal(SIGSTOP)
            let length = Int.random(in: 0...2 * WorkLog.leaseNanoseconds, using: &generator)
            worker.stopped = (WorkLog.now, WorkLog.now + length)
        }
    }

    /// Waits until no row is left.
    private func settle(_ store: Store) async throws {
        var last = Int.max
        while true {
            var count = 0
            for try await _ in try store.objects(Work.self).where({ !$0.isDone }).rows() { count += 1 }
            guard count > 0 else { return }
            if count != last { say("\(count) rows are left") }
            last = count
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    // MARK: Comparing

    /// Compares the effects with the rows.
    private func compare() async throws {
        let server = try SyncServer(ServerConfiguration(dataFolder: folder + "/data", port: 0, isDevelopment: true))
        let database = try await server.database(World.name, models: World.models)
        let dead = try await database.jobs.deadRows(ofQueue: World.queue)
        guard dead.isEmpty else { throw Failure("the queue has given up \(dead)") }
        var effects: [Int: Int] = [:]
        for try await effect in database.objects(Effect.self).rows() { effects[effect.work, default: 0] += 1 }
        var count = 0
        for try await work in database.objects(Work.self).rows() {
            count += 1
            guard work.isDone, effects[work.id] == 1 else {
                throw Failure("row \(work.id), done: \(work.isDone), has \(effects[work.id] ?? 0) effects")
            }
        }
        guard count == rows, effects.count == rows else { throw Failure("there are \(count) rows, not \(rows)") }
        await server.stop()
        say("\(count) rows, each done, each effect once")
    }

    /// Checks that no two workers had a row at the same time, from when a body began to when it ended or something was
    /// done to its process or to the server. Who was stopped for long, or had no server for long, may begin rows whose
    /// leases have ended meanwhile, and cannot know.
    private func compareHolders() throws {
        var spans: [Int: [Range<Int>]] = [:]
        var (count, exempt) = (0, 0)
        let long = WorkLog.leaseNanoseconds / 3
        for worker in all {
            let pauses = (worker.stops + gaps).sorted { $0.lowerBound < $1.lowerBound }
            let blind = pauses.filter { $0.count > long }.map { $0.lowerBound..<$0.upperBound + 2_000_000_000 }
            for (row, span) in try WorkLog.spans(in: worker.log, until: worker.end) {
                count += 1
                guard !blind.contains(where: { $0.contains(span.lowerBound) }) else {
                    exempt += 1
                    continue
                }
                let trouble = pauses.first { span.contains($0.lowerBound) }?.lowerBound ?? span.upperBound
                spans[row, default: []].append(span.lowerBound..<max(span.lowerBound, trouble))
            }
        }
        for (row, spans) in spans {
            let ordered = spans.sorted { $0.lowerBound < $1.lowerBound }
            for (former, next) in zip(ordered, ordered.dropFirst()) where former.upperBound > next.lowerBound {
                throw Failure("row \(row) was held twice at a time: \(former) and \(next)")
            }
        }
        say("\(count) bodies, nobody had a row twice at a time (\(exempt) began behind a long pause)")
    }
}
