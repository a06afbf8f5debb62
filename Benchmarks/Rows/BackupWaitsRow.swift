import Dispatch
import Foundation
import Sluice
import SluiceBackend
import SluiceModel
import SluiceServer
import Synchronization

/// B5: how long writers wait for their durable commits while a database of a gigabyte is backed up. Eight of them write in
/// the server's process, one property each, as fast as they are answered. The floor is the wait of the same writers before
/// and after, in the same run.
struct BackupWaitsRow {
    private static let writerCount = 8
    private static let carCount = 10_000

    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        let folder = workbench.freshPath("server")
        let server = try SyncServer(ServerConfiguration(dataFolder: folder, port: 0, isDevelopment: true))
        do {
            let database = try await server.database("bench", models: [Car.self, Cargo.self])
            try await fill(database)
            let runs = try await workbench.repeated { _ in try await run(database, folder) }
            await server.stop()
            return measurements(runs)
        } catch {
            await server.stop()
            throw error
        }
    }

    private func fill(_ database: ServerDatabase) async throws {
        for start in stride(from: 0, to: Self.carCount, by: 1_000) {
            try await database.write { transaction in
                for car in Car.numbered(start..<start + 1_000) { try transaction.insert(car) }
            }
        }
        let count = workbench.options.size(1 << 30, quick: 1 << 20) / Cargo.byteCount
        for start in stride(from: 0, to: count, by: 500) {
            try await database.write { transaction in
                for number in start..<min(start + 500, count) { try transaction.insert(Cargo.numbered(number)) }
            }
        }
    }

    /// What one run has found, in milliseconds and commits a second.
    private struct Run {
        var alone: [Double]
        var beside: [Double]
        var aloneRate: Double
        var besideRate: Double
    }

    private func run(_ database: ServerDatabase, _ folder: String) async throws -> Run {
        let time = Duration.milliseconds(workbench.options.size(5_000, quick: 200))
        let before = try await waits(in: database) { try await Task.sleep(for: time) }
        let maker = try BackupMaker(folder) { Timestamp(Date()) }
        let file = workbench.freshPath("backup")
        let beside = try await waits(in: database) {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                // As a server makes its own.
                DispatchQueue(label: "backup", qos: .background).async {
                    continuation.resume(with: Result { _ = try maker.make(file) })
                }
            }
        }
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
        unlink(file)
        workbench.say("  a backup of \(size >> 20) MiB in \((beside.time / .milliseconds(1)).shown) ms")
        let after = try await waits(in: database) { try await Task.sleep(for: time) }
        let alone = before.waits + after.waits
        return Run(
            alone: alone, beside: beside.waits,
            aloneRate: Double(alone.count) / ((before.time + after.time) / .seconds(1)),
            besideRate: Double(beside.waits.count) / (beside.time / .seconds(1)))
    }

    /// Has the writers write until something is over.
    ///
    /// - Returns: how long each commit was waited for, in milliseconds, and how long it took in all.
    private func waits(
        in database: ServerDatabase, until body: () async throws -> Void
    ) async throws -> (waits: [Double], time: Duration) {
        let isOver = Flag()
        let start = ContinuousClock.now
        let tasks = (0..<Self.writerCount).map { writer in
            Task {
                var waits: [Double] = []
                var number = writer
                while !isOver.isSet.withLock({ $0 }) {
                    let car = Car.numbered(number * 7_919 % Self.carCount)
                    let views = number
                    let start = ContinuousClock.now
                    try await database.write { try $0.update(car) { $0.views = views } }
                    waits.append((ContinuousClock.now - start) / .milliseconds(1))
                    number += Self.writerCount
                }
                return waits
            }
        }
        do { try await body() } catch {
            isOver.isSet.withLock { $0 = true }
            throw error
        }
        let time = ContinuousClock.now - start
        isOver.isSet.withLock { $0 = true }
        var waits: [Double] = []
        for task in tasks { waits += try await task.value }
        return (waits, time)
    }

    private final class Flag: Sendable {
        let isSet = Mutex(false)
    }

    private func measurements(_ runs: [Run]) -> [Measurement] {
        func measurement(_ name: String, _ share: Double, _ goal: Measurement.Goal) -> Measurement {
            Measurement(
                .backupWaits, name, ours: runs.map { $0.beside.percentile(share) },
                floor: runs.map { $0.alone.percentile(share) }, unit: "ms", goal: goal)
        }
        return [
            measurement("wait of a writer beside a backup, p50", 0.5, .none),
            measurement("wait of a writer beside a backup, p99", 0.99, .ratioAtMost(2)),
            Measurement(
                .backupWaits, "commits of \(Self.writerCount) writers beside a backup", ours: runs.map(\.besideRate),
                floor: runs.map(\.aloneRate), unit: "commits/s", goal: .none),
        ]
    }
}
