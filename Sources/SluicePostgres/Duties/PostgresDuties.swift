#if PostgreSQL

internal import SluiceStorage
internal import Synchronization

/// The duties of a node, as rows of `sluice.duty`.
final class PostgresDuties: DutyService {
    private struct Lease {
        var term: UInt64
        /// Until when no other node can have it: counted from before the question, by the clock of this machine.
        var deadline: ContinuousClock.Instant
    }

    private let pool: PostgresPool
    private let row: NodeRow
    private let leases = Mutex<[Duty: Lease]>([:])

    init(pool: PostgresPool, row: NodeRow) {
        self.pool = pool
        self.row = row
    }

    /// The random number by which the rows name this run of the node.
    var run: [UInt8] { row.run }

    func take(_ duty: Duty) throws -> HeldDuty? {
        let deadline = ContinuousClock.now + DutyStatements.time
        let what = "the duty '\(duty.name)' of '\(duty.database)' could not be taken"
        let taken = try pool.asking(what) { accepted throws(PostgresFailure) in
            try accepted.connection.execute(
                DutyStatements.take, .text(duty.database), .text(duty.name), .text(row.name), .bytes(row.run))
        }
        guard taken.rowCount == 1 else { return nil }
        let term = UInt64(clamping: taken.integer(0))
        leases.withLock { $0[duty] = Lease(term: term, deadline: deadline) }
        return HeldDuty(duty, term: term) { [weak self] in self?.isHeld(duty, term) ?? false }
    }

    func renew(_ held: HeldDuty) throws -> Bool {
        let deadline = ContinuousClock.now + DutyStatements.time
        let what = "the duty '\(held.duty.name)' could not be renewed"
        let renewed = try pool.asking(what) { accepted throws(PostgresFailure) in
            try accepted.connection.execute(
                DutyStatements.renew, .text(held.duty.database), .text(held.duty.name), .bytes(row.run),
                .integer(Int64(clamping: held.term)))
        }
        let isRenewed = renewed.affectedCount == 1
        leases.withLock { leases in
            guard leases[held.duty]?.term == held.term else { return }
            if isRenewed { leases[held.duty]?.deadline = deadline } else { leases[held.duty] = nil }
        }
        return isRenewed
    }

    private func isHeld(_ duty: Duty, _ term: UInt64) -> Bool {
        leases.withLock { leases in leases[duty].map { $0.term == term && $0.deadline > .now } ?? false }
    }

    func giveUp(_ held: HeldDuty) {
        leases.withLock { if $0[held.duty]?.term == held.term { $0[held.duty] = nil } }
        // Where that fails, the duty ends by itself.
        _ = try? pool.withConnection { accepted throws(PostgresFailure) in
            try accepted.connection.execute(
                DutyStatements.giveUp, .text(held.duty.database), .text(held.duty.name), .bytes(row.run),
                .integer(Int64(clamping: held.term)))
        }
    }
}

#endif
