internal import SluiceModel
internal import Synchronization

/// Counts what a server reports, for ``SyncServer/metricsText()``. A call costs an addition or two.
final class ServerMeter: ServerMetrics {
    /// The numbers at a moment.
    struct Counts: Sendable {
        var connectionCount: UInt64 = 0
        var receivedByteCount: UInt64 = 0
        var sentByteCount: UInt64 = 0
        var receivedMessageCount: UInt64 = 0
        var sentMessageCount: UInt64 = 0
        var slowCount: UInt64 = 0
        var eventCount: UInt64 = 0
        var turns = DurationHistogram()
        var logins: [ServerLoginMethod: (accepted: UInt64, refused: UInt64)] = [:]
        var quotas: [ServerQuota: UInt64] = [:]
    }

    /// What happens rarely, or costs more than an addition anyway.
    private struct Rare {
        var slowCount: UInt64 = 0
        var eventCount: UInt64 = 0
        var turns = DurationHistogram()
        var logins: [ServerLoginMethod: (accepted: UInt64, refused: UInt64)] = [:]
        var quotas: [ServerQuota: UInt64] = [:]
    }

    private let connections = Atomic<UInt64>(0)
    private let receivedMessages = Atomic<UInt64>(0)
    private let receivedBytes = Atomic<UInt64>(0)
    private let sentMessages = Atomic<UInt64>(0)
    private let sentBytes = Atomic<UInt64>(0)
    private let rare = Mutex(Rare())

    var counts: Counts {
        let rare = rare.withLock { $0 }
        return Counts(
            connectionCount: connections.load(ordering: .relaxed),
            receivedByteCount: receivedBytes.load(ordering: .relaxed),
            sentByteCount: sentBytes.load(ordering: .relaxed),
            receivedMessageCount: receivedMessages.load(ordering: .relaxed),
            sentMessageCount: sentMessages.load(ordering: .relaxed), slowCount: rare.slowCount,
            eventCount: rare.eventCount, turns: rare.turns, logins: rare.logins, quotas: rare.quotas)
    }

    func clientConnected() { connections.wrappingAdd(1, ordering: .relaxed) }

    func loginDecided(method: ServerLoginMethod, isAccepted: Bool) {
        rare.withLock { rare in
            if isAccepted {
                rare.logins[method, default: (0, 0)].accepted += 1
            } else {
                rare.logins[method, default: (0, 0)].refused += 1
            }
        }
    }

    func quotaReached(_ quota: ServerQuota) { rare.withLock { $0.quotas[quota, default: 0] += 1 } }

    func slowClientClosed() { rare.withLock { $0.slowCount += 1 } }

    func receivedFromClient(byteCount: Int) {
        receivedMessages.wrappingAdd(1, ordering: .relaxed)
        receivedBytes.wrappingAdd(UInt64(byteCount), ordering: .relaxed)
    }

    func sentToClient(byteCount: Int) {
        sentMessages.wrappingAdd(1, ordering: .relaxed)
        sentBytes.wrappingAdd(UInt64(byteCount), ordering: .relaxed)
    }

    func databaseTurn(eventCount: Int, of database: String, took duration: Duration) {
        rare.withLock { rare in
            rare.eventCount += UInt64(eventCount)
            rare.turns.note(Int64(duration / .nanoseconds(1)))
        }
    }
}
