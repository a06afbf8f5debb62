import Dispatch
import Foundation
import Sluice
import SluiceModel
import SluiceServer
import Synchronization

/// B4: the commits of R4, while backups are made one after the other, and while the server has an archive. The floor is
/// the same server without.
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
                .backups, "one-property commits beside \(way == .backups ? "backups" : "an archive")",
                ours: rates[way] ?? [], floor: rates[.alone] ?? [], unit: "commits/s", goal: .ratioAtLeast(0.6))
        }
    }

    private func run(_ way: Way) async throws -> (rate: Double, backupCount: Int, backupTime: Duration) {
        let count = workbench.options.size(20_000, quick: 500)
        let folder = workbench.freshPath("server")
        let archive = way == .archive ? workbench.freshPath("archive") : nil
        return try await workbench.withServer(folder: folder, archive: archive) { url in
            let pair = try await Pair(
                workbench, url: url, carCount: workbench.options.size(100_000, quick: 1_000), durability: .process)
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
            let start = ContinuousClock.now
            for number in 1...count { try await pair.write(number) }
            let seen = try await pair.seen.wait(for: count)
            let (backupCount, backupTime) = try await Task.detached { try backups.stop(over) }.value
            await pair.close()
            return (Double(count) / ((seen - start) / .seconds(1)), backupCount, backupTime)
        }
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
