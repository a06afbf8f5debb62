internal import SluiceStorage
internal import Synchronization

/// Knows whether a server can serve stores: in which phase it is, and how its databases and their journals are. Any
/// thread may ask; it waits for nothing.
final class Readiness: Sendable {
    private struct State {
        var phase = ServerHealth.Phase.starting
        var isDraining = false
        var handsOver = false
    }

    private let databases: DatabaseDirectory
    private let journals: (any JournalService)?
    private let uptime: @Sendable () -> Int64
    /// Whether the server's own users can be changed; nil where it has none.
    private let areUsersWritable: (@Sendable () -> Bool)?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - areUsersWritable: whether the server's own users can be changed; nil where it has none.
    ///   - uptime: a monotonic clock, in nanoseconds.
    init(
        _ databases: DatabaseDirectory, journals: (any JournalService)?, areUsersWritable: (@Sendable () -> Bool)?,
        uptime: @escaping @Sendable () -> Int64
    ) {
        self.areUsersWritable = areUsersWritable
        self.databases = databases
        self.journals = journals
        self.uptime = uptime
    }

    // MARK: Phases

    func noteStart() { state.withLock { $0.phase = .serving } }

    func noteStop() { state.withLock { $0.phase = .stopped } }

    /// From now on stores should go elsewhere.
    func noteDraining() { state.withLock { $0.isDraining = true } }

    /// Sessions are handed over to another server, or served here again.
    func noteHandOver(_ handsOver: Bool) { state.withLock { $0.handsOver = handsOver } }

    private var phase: ServerHealth.Phase {
        state.withLock { state in
            state.phase == .serving && (state.isDraining || state.handsOver) ? .draining : state.phase
        }
    }

    // MARK: Health

    /// How the server is at the moment: O(number of databases).
    var health: ServerHealth {
        var health = ServerHealth(phase: phase)
        let time = uptime()
        let heard = journals?.heardPositions ?? [:]
        var journal = ServerHealth.Journals()
        journal.silenceMilliseconds = UInt64(max(0, (journals?.silence ?? .zero) / .milliseconds(1)))
        for worker in databases.workers {
            switch worker.health.state {
            case .closed: continue
            case .failed: health.failedCount += 1
            case .open(let database):
                health.openCount += 1
                if database.isWritable { health.writableCount += 1 }
                if database.isDamaged { health.damagedCount += 1 }
                if database.isSilent { journal.silentCount += 1 } else { journal.answeringCount += 1 }
                let known = heard[worker.name] ?? 0
                journal.lagPositions = max(
                    journal.lagPositions, known > database.position ? known - database.position : 0)
                journal.lagMilliseconds = max(
                    journal.lagMilliseconds, UInt64(worker.health.lag(at: time) / 1_000_000))
            }
        }
        health.journals = journals == nil ? nil : journal
        health.areUsersWritable = areUsersWritable?()
        health.isFolderWritable = databases.isFolderWritable
        return health
    }
}
