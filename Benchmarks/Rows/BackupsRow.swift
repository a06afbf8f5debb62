import Dispatch
import Foundation
import SluiceBackend
import SluiceModel
import SluiceServer
import Synchronization

/// B4: durable commits of one property each that a server takes from many writers, while backups are made one after the
/// other, and while it has an archive. The floor is the same server without.
struct BackupsRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    private enum Way: String {
        case alone, backups, archive
    }

    func measure() async throws -> [Measurement] {
        var rates: [Way: [Double]] = [:]
        var (backupCount, backupTime) = (0, Duration.zero)
        for _ in 0..<workbench.options.runCount {
            for way in [Way.alone, .backups, .archive] {
                let run = try await run(way)
                rates[way, default: []].append(run.rate)
                backupCount += run.backupCount
                backupTime += run.backupTime
            }
        }
        workbench.say("  \(backupCount) backups, \((backupTime / max(backupCount, 1)) / .milliseconds(1)) ms each")
        return [Way.backups, .archive].map { way in
            Measurement(
                .backups, "durable commits of 64 writers beside \(way == .backups ? "backups" : "an archive")",
                ours: rates[way] ?? [], floor: rates[.alone] ?? [], unit: "commits/s", goal: .ratioAtLeast(0.6))
        }
    }

    private func run(_ way: Way) async throws -> (rate: Double, backupCount: Int, backupTime: Duration) {
        let count = workbench.options.size(64_000, quick: 640)
        let folder = workbench.freshPath("backups")
        var configuration = ServerConfiguration(dataFolder: folder, port: 0, isDevelopment: true)
        if way == .archive { configuration.archive = workbench.freshPath("archive") }
        let server = try SyncServer(configuration)
        let cars = try await server.database("bench", models: [Car.self])
        let carCount = workbench.options.size(100_000, quick: 1_000)
        for start in stride(from: 0, to: carCount, by: 10_000) {
            let some = Car.numbered(start..<min(start + 10_000, carCount))
            try await cars.write { for car in some { try $0.insert(car) } }
        }
        let backups = Backups()
        let over = DispatchGroup()
        if way == .backups {
            let maker = try BackupMaker(folder) { Timestamp(Date()) }
            let place = workbench.freshPath("backup")
            over.enter()
            Thread.detachNewThread {
                backups.make(with: maker, at: place)
                over.leave()
            }
        }
        let before = try await views(of: cars)
        let seconds = try await workbench.seconds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<64 {
                    group.addTask {
                        for number in stride(from: writer, to: count, by: 64) {
                            let vin = Car.numbered(number % carCount).vin
                            try await cars.write { try $0.update(Car(vin: vin)) { $0.views += 1 } }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        let (backupCount, backupTime) = try await Task.detached { try backups.stop(over) }.value
        try check(try await views(of: cars), is: before + count, "the sum of the views")
        await server.stop()
        return (Double(count) / seconds, backupCount, backupTime)
    }

    private func views(of cars: ServerDatabase) async throws -> Int {
        try await cars.objects(Car.self).fetch().reduce(0) { $0 + $1.views }
    }

    /// Makes one backup after the other on a thread of its own, until it is stopped.
    private final class Backups: Sendable {
        private struct State {
            var isStopped = false
            var count = 0
            var time = Duration.zero
            var failure: (any Error)?
        }

        private let state = Mutex(State())

        func make(with maker: BackupMaker, at place: String) {
            while !state.withLock({ $0.isStopped }) {
                let start = ContinuousClock.now
                do { _ = try maker.make(place) } catch {
                    return state.withLock { $0.failure = error }
                }
                unlink(place)
                state.withLock { state in
                    state.count += 1
                    state.time += ContinuousClock.now - start
                }
            }
        }

        /// - Returns: how many backups were made, and how long they took in all.
        func stop(_ over: DispatchGroup) throws -> (Int, Duration) {
            state.withLock { $0.isStopped = true }
            over.wait()
            return try state.withLock { state in
                if let failure = state.failure { throw failure }
                return (state.count, state.time)
            }
        }
    }
}
