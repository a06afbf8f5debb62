import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport

/// What goes wrong between jobs of the server's process and their database: what they write is refused, or stored although
/// the answer is lost. It also watches that no claim is taken for one of a worker that has died whose process goes on.
final class JobTrouble {
    /// Decides what goes wrong; nil if nothing does.
    private var fortune: SeededGenerator?
    /// Whether leases are so long that none ends while its process goes on, and no claim comes back with another history.
    private let outlivesEverything: Bool
    /// Who has asked for claims, by the numbers of these.
    private var holders: [UInt64: JobGates] = [:]
    private(set) var lostAnswerCount = 0
    private(set) var refusalCount = 0

    init(_ plan: SimulationPlan) {
        fortune = plan.options.losesJobAnswers ? SeededGenerator(seed: plan.seed ^ 0x7A0B) : nil
        outlivesEverything = plan.options.jobLease >= SimulationOptions.longJobLease && !plan.options.losesHistory
    }

    /// Lets a job write something, or not.
    func write<Result>(for gates: JobGates, _ body: () throws -> Result) throws -> Result {
        guard fortune != nil, let chance = fortune?.below(100) else { return try body() }
        if chance < 5 {
            refusalCount += 1
            gates.isTroubled = true
            throw StorageError(.full, "the disk is full for a moment")
        }
        let result = try body()
        guard chance < 15 else { return result }
        lostAnswerCount += 1
        gates.isTroubled = true
        throw StorageError(.outcomeUnknown, "the answer is lost")
    }

    // MARK: Claims

    /// Notes the claims that a job asks for.
    ///
    /// - Throws: ``SimulationFailure`` if it takes a claim for one of a worker that has died, and that has not.
    func watch(_ writes: [JobWrite], by gates: JobGates) throws {
        for write in writes where write.key.space.hasPrefix(QueueClaim.prefix) {
            if case .value(let bytes) = write.expectation {
                try judge(write, former: QueueClaim(wireBytes: bytes), writes)
            }
            guard case .set(_, let bytes) = write.change else { continue }
            let claim = try QueueClaim(wireBytes: bytes)
            if claim.holder != 0 { holders[claim.holder] = gates }
        }
    }

    /// Notes that so much time has passed that every lease of before has ended: its claim may be taken over.
    func leasesHaveEnded() { holders = [:] }

    private func judge(_ write: JobWrite, former: QueueClaim, _ writes: [JobWrite]) throws {
        guard outlivesEverything, former.holder != 0, let gates = holders[former.holder], !gates.isGone else { return }
        switch write.change {
        case .set(_, let bytes):
            let claim = try QueueClaim(wireBytes: bytes)
            guard claim.holder != 0, claim.holder != former.holder else { return }
            throw SimulationFailure("the claim \(former) is taken over as \(claim), and its process goes on")
        case .remove:
            for case .set(_, let bytes) in writes.map(\.change) {
                guard let letter = try? DeadLetterRecord(wireBytes: bytes), letter.error.hasPrefix("its worker ended")
                else { continue }
                throw SimulationFailure("the claim \(former) is given up, and its process goes on")
            }
        }
    }
}

extension JobGates {
    /// Whether the process is gone, and perhaps left claims.
    fileprivate var isGone: Bool { isKilled || hasEnded && isTroubled }
}
