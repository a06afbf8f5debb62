internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// Duties in memory, as one of several servers of one process reaches them.
struct MemoryDuties: DutyService {
    private let shared: SharedDuties
    private let server: UInt64
    private let answers: @Sendable () -> Bool

    /// - Parameter answers: whether the server reaches them.
    init(_ shared: SharedDuties, server: UInt64, answers: @escaping @Sendable () -> Bool) {
        self.shared = shared
        self.server = server
        self.answers = answers
    }

    func take(_ duty: Duty) throws -> HeldDuty? {
        guard answers() else { throw StorageError(.busy, "the journal does not answer") }
        return shared.take(duty, server)
    }

    func renew(_ held: HeldDuty) throws -> Bool {
        guard answers() else { throw StorageError(.busy, "the journal does not answer") }
        return shared.renew(held, server)
    }

    func giveUp(_ held: HeldDuty) { if answers() { shared.giveUp(held, server) } }
}

/// Which server has which duty, and until when.
final class SharedDuties: Sendable {
    private struct Lease {
        var server: UInt64
        var term: UInt64
        var until: Timestamp
    }

    /// How long a duty lasts, in microseconds.
    private static let time: Int64 = 10_000_000

    private let now: @Sendable () -> Timestamp
    private let leases = Mutex<[Duty: Lease]>([:])

    init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    func take(_ duty: Duty, _ server: UInt64) -> HeldDuty? {
        let time = now()
        let until = Timestamp(microseconds: time.microseconds + Self.time)
        let term = leases.withLock { leases -> UInt64? in
            let lease = leases[duty]
            if let lease, lease.until > time { return nil }
            let term = (lease?.term ?? 0) + 1
            leases[duty] = Lease(server: server, term: term, until: until)
            return term
        }
        return term.map { term in
            HeldDuty(duty, term: term) { [weak self] in self?.isHeld(duty, term) ?? false }
        }
    }

    func renew(_ held: HeldDuty, _ server: UInt64) -> Bool {
        let time = now()
        return leases.withLock { leases in
            guard let lease = leases[held.duty], lease.server == server, lease.term == held.term, lease.until > time
            else { return false }
            leases[held.duty]?.until = Timestamp(microseconds: time.microseconds + Self.time)
            return true
        }
    }

    private func isHeld(_ duty: Duty, _ term: UInt64) -> Bool {
        let time = now()
        return leases.withLock { leases in leases[duty].map { $0.term == term && $0.until > time } ?? false }
    }

    func giveUp(_ held: HeldDuty, _ server: UInt64) {
        let time = now()
        leases.withLock { leases in
            guard let lease = leases[held.duty], lease.server == server, lease.term == held.term else { return }
            leases[held.duty]?.until = time
        }
    }
}
